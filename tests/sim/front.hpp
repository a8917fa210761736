// The shell of policies::front_core in a simulated process; see actors/front. What differs
// between a shard and an aggregator is theirs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/front_core.hpp"
#include "tests/sim/front_memory.hpp"
#include "tests/sim/process.hpp"
#include "tests/sim/sender.hpp"

namespace tidegate::sim {

class front_process : public process, public policies::front_shell {
 public:
  front_process(world& where, process_id id, role what, std::string name, std::uint32_t host,
                std::uint32_t index, policies::shard_core& shard);

  void start() override { join(); }

  // Calls of the coordinator.
  virtual runtime::status open_job(const policies::open_job_call& call) = 0;
  virtual runtime::status open_table(const policies::open_table_call& call) = 0;
  virtual answer admit(const policies::admit_worker_call& call);
  answer sum_progress(const policies::sum_progress_call& call) const {
    return {{}, shard_.first_clocks(call.token, call.ranks)};
  }
  answer shut_out(const policies::shut_out_call& call) { return {{}, front_.shut_out(call)}; }
  answer hold(const policies::hold_call& call);
  virtual answer change_roster(const policies::roster_call& call);
  virtual void close_job(std::uint64_t token) = 0;
  virtual answer checkpoint(const policies::checkpoint_call& call);
  virtual void lead(const policies::lead_call& call, const answer_to& reply);
  virtual void follow(const policies::follow_call& call);
  virtual void promote(const policies::promote_call& call);
  virtual void upstream_moved(const policies::shard_moved& what);

  // Whether this coordinator is the one that it has joined, or asked to.
  bool obeys(process_id coordinator) const noexcept { return coordinator == coordinator_; }
  // It is out, and ends.
  void expel(const std::string& why);

  const front_memory& memory() const noexcept { return memory_; }
  // All jobs are done: nothing is held for anybody.
  void check_rest();

 protected:
  // Says hello to the coordinator.
  virtual void ask_to_join(process_id coordinator, answer_to back) = 0;
  // A frame of upstream, if any: whether it was one.
  virtual bool upstream_frame(process_id, const runtime::frame_header&) { return false; }
  virtual void upstream_lost() {}
  // It acknowledges a push.
  virtual void check_behind(std::uint32_t, std::uint32_t, std::uint64_t) const {}
  virtual bool waits_for_replica() const { return false; }
  void snapshot(const effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;
  virtual memory_view place_upstream(const runtime::frame_header&) { return {}; }
  virtual bool is_upstream(process_id) const { return false; }
  // Between the processes of a shard's group.
  virtual memory_view place_replication(const runtime::frame_header&) { return {}; }
  virtual void on_replication(process_id, const runtime::frame_header&, memory_view) {}
  virtual void replication_lost(const runtime::frame_header&) {}
  void replicate(const effects::replicate& what) override;
  void seed(const effects::seed& what) override;
  void replicate_farewell(const effects::replicate_farewell& what) override;
  void followed(const effects::followed& what) override;

  memory_view place(process_id from, const runtime::frame_header& header) override;
  void on_frame(process_id from, const runtime::frame_header& header,
                memory_view arrived) override;
  void on_frame_lost(process_id from, const runtime::frame_header& header) override;
  void on_sent(std::uint64_t token) override;
  void peer_lost(process_id peer) override;
  void connection_broke(process_id peer) override;
  std::optional<peer_id> reconnect(const policies::member_key& member) override;
  // Makes connections that broke again, while there are any.
  virtual bool is_mending() const { return front_.is_mending(); }
  virtual void mend() { front_.mend(local_now()); }
  void mend_soon();

  void send(peer_id to, const runtime::frame_header& header) override;
  void send_place(peer_id to, const runtime::frame_header& header) override;
  void send_parameters(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                       std::uint32_t plane, policies::send_name name) override;
  void drop(peer_id to, std::vector<policies::send_name>& names) override {
    sender_.drop(to, names);
  }
  policies::refusal map_gradients(const policies::member_key& who, std::uint32_t table,
                                  std::span<const std::byte> place) override;
  policies::payload_handle keep_in_place(const policies::member_key& who, std::uint32_t table,
                                         std::uint32_t half, std::uint32_t slot) override;
  void release(policies::payload_handle payload) override;
  void forget(const policies::member_key& who) override;
  std::uint64_t bytes_of(std::uint32_t slot) const override { return memory_.bytes_of(slot); }
  void go_on_soon() override;
  void post_acks_soon() override;
  void note_refusal(const policies::frame_tag& tag, policies::refusal code) override;

  updates updates_of(process_id from, const runtime::frame_header& header, std::uint32_t table,
                     std::uint32_t chunk) const;
  void check_credits();
  void check_waiting(std::uint64_t workers);
  void spoil_planes(std::uint32_t table);
  void check_answer(const runtime::frame_header& header, std::uint32_t plane);

  policies::shard_core& shard_;
  front_memory memory_;
  sender sender_;
  policies::front_core front_;
  std::uint32_t index_;

 private:
  // Again and again until it is in; and again when another coordinator has come.
  void join();

  bool mending_ = false;
  std::map<policies::member_key, process_id> homes_;  // of members
  process_id coordinator_ = 0;                        // that it has asked last
  bool joining_ = false;
  struct mapped {
    std::vector<region> halves;  // of the whole table
  };
  std::map<policies::member_key, std::map<std::uint32_t, mapped>> members_;
  using push_name =
      std::tuple<policies::member_key, std::uint32_t, std::uint32_t, std::uint64_t>;
  static push_name name_of(const runtime::frame_header& header);
  std::map<push_name, memory_view> arriving_;  // leases of pushes on their way
  runtime::frame_header current_;              // being handled
  process_id current_from_ = 0;
};

}  // namespace tidegate::sim
