// A simulated shard or aggregator: a shell of actors/ on a simulated process, joined to the
// coordinator, with what the checker wants to know of it. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/shard/ingress_shell.hpp"
#include "launch/simulate/cluster/cluster_member.hpp"
#include "launch/simulate/cluster/endpoint_memory.hpp"
#include "launch/simulate/cluster/frame_process.hpp"

namespace tidegate::sim {

class endpoint_process : public frame_process, public cluster_member {
 public:
  endpoint_process(world& where, process_id id, role kind, std::string name,
                   std::uint32_t host);

  void start() override { enter_cluster(); }

  // Calls of the coordinator, each made through in_order().
  virtual void in_order(const std::function<void()>& call) { call(); }
  virtual runtime::status open_job(const policies::open_job_call& call) = 0;
  virtual void open_table(const policies::open_table_call& call, const answer_to& reply) = 0;
  virtual answer admit(const policies::admit_worker_call& call) = 0;
  virtual answer sum_progress(const policies::sum_progress_call& call) = 0;
  virtual answer shut_out(const policies::shut_out_call& call) = 0;
  virtual answer hold(const policies::join_barrier_call& call) = 0;
  virtual answer change_membership(const policies::membership_call& call) = 0;
  virtual void close_job(std::uint64_t token) = 0;
  virtual answer checkpoint(const policies::checkpoint_call& call);
  virtual void lead(const policies::lead_call& call, const answer_to& reply);
  virtual void follow(const policies::follow_call& call);
  virtual void promote(const policies::promote_call& call);
  virtual void upstream_moved(const policies::shard_moved& move);

  // Whether this coordinator is the one that it has joined, or asked to.
  bool obeys(process_id id) const noexcept { return id == coordinator(); }
  // The coordinator's word: it ends. `rests`: all jobs are done, and nothing is held.
  virtual void stop(bool rests);

  const endpoint_memory& memory() const noexcept { return memory_; }
  // All jobs are done: nothing is held for anybody.
  void check_rest();

  // For its memory: what happens in it, to be checked, or goes wrong.
  void check_answer(const runtime::frame_header& header, std::uint32_t version_buffer);
  void check_fails(const std::string& promise, const std::string& text) const {
    world_.check.fail(promise, name() + " " + text);
  }
  bool is_short_of_memory() {
    return world_.plan.no_memory > 0 && world_.chance.chance(world_.plan.no_memory);
  }
  bool has_no_window() {
    return world_.plan.no_window > 0 && world_.chance.chance(world_.plan.no_window);
  }
  // What the push that is being handled adds up to, as its sender knows it.
  updates updates_of_current() const;
  updates updates_in_place(std::uint32_t table, std::uint32_t chunk) const;
  // The halves of the gradients of a member that lie there; none: they cannot be mapped.
  std::vector<region> gradients_at(std::span<const std::byte> place, std::uint32_t table,
                                   bool on_device);

 protected:
  virtual policies::shard_core& core() = 0;
  virtual actors::ingress_shell& ingress_part() = 0;
  // It shows parameters to a reader.
  virtual void check_shown(std::uint32_t /*slot*/, std::uint32_t /*version_buffer*/,
                           bool /*on_device*/) {}
  // It acknowledges a push.
  virtual void check_behind(std::uint32_t, std::uint32_t, std::uint64_t) const {}
  virtual bool waits_for_replica() const { return false; }

  void peer_lost(process_id peer) override { lost(peer); }
  void gave_up(const runtime::status& why) final;
  void says(const runtime::frame_header& header) final {
    check_answer(header, header.version_buffer);
  }
  void placed(const runtime::frame_header& header) final;
  void after_frame() final { spoil_version_buffers(current().table); }
  void after_turn() final { check_credits(); }

  endpoint_memory memory_{*this};

 private:
  updates updates_of(std::uint32_t table, std::uint32_t chunk) const;
  void check_credits();
  void check_waiting(std::uint64_t workers);
  void spoil_version_buffers(std::uint32_t table);

  std::size_t spoiled_ = 0;  // slots of large tables, in turn
};

// Calls that a shell answers at once.
template <class Shell>
class shell_process : public endpoint_process {
 public:
  using endpoint_process::endpoint_process;

  runtime::status open_job(const policies::open_job_call& call) override {
    return shell().open_job(call);
  }
  answer admit(const policies::admit_worker_call& call) override {
    const auto first = shell().admit(call);
    note("admit rank " + std::to_string(call.rank) + " job " + std::to_string(call.token) +
         (first ? "" : " -> " + first.error().message()));
    if (!first) return {first.error(), {}};
    return {{}, *first};
  }
  answer sum_progress(const policies::sum_progress_call& call) override {
    return {{}, shell().sum_progress(call)};
  }
  answer shut_out(const policies::shut_out_call& call) override {
    return {{}, shell().shut_out(call)};
  }
  answer hold(const policies::join_barrier_call& call) override {
    return {{}, shell().hold(call)};
  }
  answer change_membership(const policies::membership_call& call) override {
    shell().change_membership(call);
    return {};
  }
  void close_job(std::uint64_t token) override { shell().close_job(token); }

 protected:
  virtual Shell& shell() = 0;
  policies::shard_core& core() override { return shell().core(); }
  actors::ingress_shell& ingress_part() override { return shell().ingress(); }
};

}  // namespace tidegate::sim
