// The side of a shard or an aggregator that faces workers: takes their frames to a shard core
// and says, step by step, what is to be done.
//
// What the core decides is carried out in the order of shard_queue, a bounded amount of summing
// at a time, so that frames are taken in while a large table is being updated. Everything that
// touches memory or a network is the shell's: an actor, or a simulated process.
//
// One thread. No function of the shell may call back, but by go_on(). Once warm, nothing
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/protocol/control_calls.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/ingress_shell.hpp"
#include "policies/shard/ingress_state.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

class ingress_core {
 public:
  using effects = shard_effects;
  using peer_id = ingress_shell::peer_id;

  static constexpr std::uint64_t turn_bytes_default = 2U << 20U;

  // `index`: of the shard, as its answers name it. `turn_bytes`: summed before the network is
  // looked at again.
  ingress_core(ingress_shell& shell, shard_core& core, std::uint32_t index,
               std::uint64_t turn_bytes = turn_bytes_default)
      : state_(shell, core, index, turn_bytes) {}

  // A worker is to be expected. `connect`: connected() follows, unless that fails. One that is
  // known and out of reach is connected to by mend().
  struct admission {
    reply_code code = reply_code::ok;
    bool connect = false;
    std::uint64_t first_clock = 0;  // see admit_worker_call
  };
  admission admit(const admit_worker_call& call);
  void connected(const admit_worker_call& call, peer_id peer) {
    state_.links.connected(call, peer);
  }
  // The process at the other end has ended.
  void peer_lost(peer_id peer) { state_.links.peer_lost(peer); }
  // The connection broke, and the process at the other end is not known to have ended: mend()
  // makes another.
  void connection_broke(peer_id peer, std::int64_t now) {
    state_.links.connection_broke(peer, now);
  }
  // Makes the attempts that are due. To be called every few milliseconds while is_mending().
  void mend(std::int64_t now) { state_.links.mend(now); }
  bool is_mending() const noexcept { return state_.links.is_mending(); }
  // The shard core has a table of that job that it did not have: members whose frames were
  // refused for want of it are asked to send them again.
  void table_opened(std::uint64_t job) { state_.links.ask_refused(job); }
  // Members of that job hear from this process from now on, which was a replica: connections
  // that were made again meanwhile have to prove themselves.
  void promoted(std::uint64_t job) { state_.links.promoted(job); }
  void set_reconnect_limits(const reconnect_limits& limits) { state_.links.set_limits(limits); }
  // Members that have been out of reach for so long.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return state_.links.outages(now, longer_than);
  }
  // A worker is not expected any more.
  std::uint64_t shut_out(const shut_out_call& call);
  std::uint64_t hold(const join_barrier_call& call);
  void change_membership(const membership_call& call);
  // Whose connection this is, if it is a worker's; null: nobody's.
  const member_key* member_at(peer_id peer) const { return state_.links.member_at(peer); }

  // Returns true if a frame with payload that is arriving may have a place here. What is not
  // placed has been answered or is a duplicate.
  bool place(const runtime::frame_header& header);
  // There is no memory for what place() allowed.
  void no_place(const runtime::frame_header& header);
  // What place() allowed will not come.
  void frame_lost(const runtime::frame_header& header);
  // A frame is here. `payload`: of a push. `bytes`: of an attach. `copied`: on the way.
  void frame(const runtime::frame_header& header, payload_handle payload,
             std::span<const std::byte> bytes, std::uint64_t copied);
  // A reply has left its version buffer, or never will.
  void sent(send_name name) { state_.replies.sent(name); }

  // For effects of calls about that table that the owner makes itself; carry_out() follows.
  effects& pending(std::uint64_t job, std::uint32_t table) {
    return state_.turns.pending(job, table);
  }
  // Calls the core about the whole job, call(effects), when all that waits for the job has been
  // carried out, and carries out what it says.
  template <class Call>
  void about_job(std::uint64_t job, const Call& call) {
    state_.turns.drain(job);
    call(state_.turns.pending(job));
    state_.turns.drain(job);
  }
  // Of what waits, until the budget is spent; the rest follows with go_on().
  void carry_out() { state_.turns.carry_out(); }
  void go_on();
  // Tells members what of theirs has been applied in this turn: whose tables all have been is
  // told at once.
  void post_acks() { state_.acks.post(); }

 private:
  void refuse_push(const runtime::frame_header& header, reply_code code);
  void on_push(const frame_tag& tag, const runtime::frame_header& header,
               payload_handle payload, std::uint64_t copied);
  void pull_of(const runtime::frame_header& header);
  void on_attach(const frame_tag& tag, std::span<const std::byte> place);
  void on_doorbell(frame_tag tag, const runtime::frame_header& header);
  void doorbell_table(const frame_tag& tag, std::uint32_t half,
                      const shard_core::doorbell_request& request);
  shard_core& core() noexcept { return state_.core; }

  sharding::ingress_state state_;
  std::vector<payload_handle> handles_;  // of the doorbell being handled
};

}  // namespace tidegate::policies
