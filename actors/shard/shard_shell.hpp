// The shell of a shard: carries out what policies::shard_core decides. It hands each call of
// the coordinator, frame and effect to the part that owns it: ingress_shell faces the workers,
// as in aggregators, chain_shell the neighbours in the chain of its group, and
// shard_checkpoints the storage. One thread, the home's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "actors/seam/frame_shell.hpp"
#include "actors/seam/look_schedule.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/seam/work_progress.hpp"
#include "actors/shard/chain_shell.hpp"
#include "actors/shard/ingress_shell.hpp"
#include "actors/shard/shard_checkpoints.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/shard/shard_port.hpp"
#include "actors/shard/table_opener.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/replication_core.hpp"

namespace tidegate::actors {

class shard_shell final : public frame_shell,
                          private ingress_shell::owner,
                          private work_progress::listener,
                          private continuation {
 public:
  using completion = chain_shell::completion;

  shard_shell(shell_home& home, shard_memory& memory, shard_port& port, std::uint32_t index)
      : home_(home),
        memory_(memory),
        ingress_(*this, home, core_, memory.ingress(), index),
        chain_(home, memory, port, core_, ingress_),
        checkpoints_(home, memory, port, core_, index),
        tables_(home, memory, checkpoints_, core_),
        port_(port) {
    memory_.ingress().work().set_listener(this);
  }
  ~shard_shell() override { memory_.ingress().work().set_listener(nullptr); }
  shard_shell(const shard_shell&) = delete;
  shard_shell& operator=(const shard_shell&) = delete;

  // Calls of the coordinator. Errors: invalid_argument, not_found (no such job), unavailable
  // (the last checkpoint is being written), refused; those of link, memory and storage.
  // A table is opened in many turns: each call is made through in_order(), and `done` is called
  // once, now or when the table is whole.
  void in_order(std::function<void()> call) { tables_.in_order(std::move(call)); }
  runtime::status open_job(const policies::open_job_call& call);
  void open_table(const policies::open_table_call& call, completion done);
  runtime::expected<std::uint64_t> admit(const policies::admit_worker_call& call);
  auto sum_progress(const policies::sum_progress_call& call) {
    return core_.admin().first_clocks(call.token, call.ranks);
  }
  std::uint64_t shut_out(const policies::shut_out_call& call) {
    return ingress_.core().shut_out(call);
  }
  std::uint64_t hold(const policies::join_barrier_call& call) {
    return ingress_.core().hold(call);
  }
  void change_membership(const policies::membership_call& call) {
    ingress_.core().change_membership(call);
  }
  void close_job(std::uint64_t token);
  runtime::expected<std::uint64_t> checkpoint(const policies::checkpoint_call& call);
  // The port has written a file, or could not, and why.
  void part_written(std::uint64_t token, const policies::written_file& file,
                    const std::string& failure) {
    checkpoints_.part_written(token, file, failure);
  }
  // `done` is called once, now or when the replica has everything. Errors: cancelled (another
  // view has begun); those of the link.
  void lead(const policies::lead_call& call, completion done);
  runtime::status follow(const policies::follow_call& call) { return chain_.follow(call); }
  // Returns false if an earlier call has said so.
  bool promote(const policies::promote_call& call);

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override {
    const auto name = ingress_.sender().on_sent(token);
    if (!chain_.sent(name)) ingress_.sent(name);
  }
  void on_frame_lost(const runtime::frame_header& header) override;
  void on_frame(frame_event& event) override;
  void on_peer_lost(const peer_lost_event& event) override;
  void look() override;
  // Hands to the link what may be sent by now: it is about to close.
  void finish();
  // Nothing is sent any more.
  void close();

  // Returns the checkpoint whose part is being taken or written, or was last.
  policies::checkpoint_id checkpoint_under_way(std::uint64_t token) const {
    return checkpoints_.under_way(token);
  }
  ingress_shell& ingress() noexcept { return ingress_; }
  policies::shard_core& core() noexcept { return core_; }
  const policies::shard_core& core() const noexcept { return core_; }
  const policies::replication_core& replication() const noexcept { return chain_.core(); }

 private:
  using effects = policies::shard_effects;
  using inputs = policies::ingress_shell::inputs;

  void give_back_memory();
  bool is_mending() const { return ingress_.core().is_mending() || chain_.core().is_mending(); }
  void look_soon() {
    looks_.ask(is_mending(), [this] { return chain_.core().is_busy(); });
  }

  policies::reply_code apply(const effects::apply& step, inputs from) override;
  double measure(const effects::measure& step, inputs from) override {
    return memory_.measure(step, from);
  }
  void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) override {
    memory_.show(slots, version_buffer);
  }
  // While its memory is at work: a look at it each turn.
  void work_begun() override {
    if (!std::exchange(looks_at_work_, true)) home_.after_progress(*this);
  }
  void go_on() override;
  void hand_on(const effects::hand_on& step, inputs from) override;
  void ask(const effects::ask& step) override;
  void snapshot(const effects::snapshot& step,
                const policies::shard_core::cut_state& state) override {
    checkpoints_.snapshot(step, state);
  }
  void replicate(const effects::replicate& step) override;
  void seed(const effects::seed& chunk) override { chain_.core().seed(chunk); }
  void replicate_farewell(const effects::replicate_farewell& farewell) override;
  void followed(const effects::followed& step) override { chain_.core().followed(step); }

  shell_home& home_;
  shard_memory& memory_;
  policies::shard_core core_;
  ingress_shell ingress_;
  chain_shell chain_;
  shard_checkpoints checkpoints_;
  table_opener tables_;
  shard_port& port_;
  look_schedule looks_{home_};
  bool looks_at_work_ = false;
  outage_watch outages_{home_};
  std::map<std::uint64_t, store_options> jobs_;  // by token
};

}  // namespace tidegate::actors
