// The side of a shard or an aggregator that faces workers: takes their frames to a shard core
// and says, step by step, what is to be done.
//
// What the core decides is carried out in the order of shard_queue, a bounded amount of summing
// at a time, so that frames are taken in while a large table is being updated. Everything that
// touches memory or a network is the shell's: an actor, or a simulated process.
//
// One thread. No function of the shell may call back: what it wants done later it does in
// go_on() and post_acks(). `now` is in nanoseconds of any clock that does not go back. Once
// warm, nothing allocates.
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
  // Of the shard.
  std::uint32_t index() const noexcept { return state_.index; }
  using effects = shard_effects;
  using peer_id = ingress_shell::peer_id;

  static constexpr std::uint64_t turn_bytes_default = 2U << 20U;

  // `shell` and `core` must outlive this. `index`: of the shard, as its answers name it.
  // `turn_bytes`: how much is summed before the network is looked at again.
  ingress_core(ingress_shell& shell, shard_core& core, std::uint32_t index,
               std::uint64_t turn_bytes = turn_bytes_default)
      : state_(shell, core, index, turn_bytes) {}

  // The answer to an admit_worker_call.
  struct admission {
    reply_code code = reply_code::ok;
    bool connect = false;           // the shell is to connect to the worker
    std::uint64_t first_clock = 0;  // see job_admin::first_missing()
  };
  // Admits the process of a worker: its frames may come in from now on. Where `connect` says so
  // the shell connects to it and calls connected(), unless that fails; a process that is known
  // and out of reach is connected to by mend().
  admission admit(const admit_worker_call& call);
  // Answers this worker over `peer` from now on. Drops the connection that its rank had, and if
  // that was to another process, forgets the memory of that process.
  void connected(const admit_worker_call& call, peer_id peer) {
    state_.links.connected(call, peer);
  }
  // Sends nothing to this peer any more: its process has ended. What it pushed stays.
  void peer_lost(peer_id peer) { state_.links.peer_lost(peer); }
  // Takes in that shard_core has closed the job.
  void job_closed(std::uint64_t job) { state_.links.closed(job); }
  // member_links::take_deserted().
  std::vector<std::uint64_t> take_deserted() { return state_.links.take_deserted(); }
  // Lets mend() make another connection in place of this one, which broke while its process is
  // not known to have ended; at a replica promoted() does.
  void connection_broke(peer_id peer, std::int64_t now) {
    state_.links.connection_broke(peer, now);
  }
  // Makes the attempts to connect that are due. To be called every few milliseconds while
  // is_mending().
  void mend(std::int64_t now) { state_.links.mend(now); }
  // Notes when pushes come: those of frames from now on at this time.
  void set_time(std::int64_t now) noexcept { core().arrivals().set_time(now); }
  // Returns what has closed since the last call.
  std::vector<job_arrivals> take_arrivals() { return core().arrivals().take(); }
  bool is_mending() const noexcept { return state_.links.is_mending(); }
  // Asks members of the job whose frames were refused for want of a table to send them again.
  // To be called after the shard core has opened the table.
  void table_opened(std::uint64_t job) { state_.links.ask_refused(job); }
  // Checks connections to the job's members that were made again while this was a replica, as
  // members answer only a primary. To be called after chunk_follower::promote().
  void promoted(std::uint64_t job) { state_.links.promoted(job); }
  void set_reconnect_limits(const reconnect_limits& limits) { state_.links.set_limits(limits); }
  // Returns the members that have been out of reach for `longer_than` nanoseconds.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return state_.links.outages(now, longer_than);
  }
  // Refuses frames of a rank from now on, unless call.only_asks. Returns the first clock of
  // which no chunk here has a push of the rank, in its order.
  std::uint64_t shut_out(const shut_out_call& call);
  // See join_barrier::hold(), whose answer it returns.
  std::uint64_t hold(const join_barrier_call& call);
  // See join_barrier::change_membership(). Forgets the connection of a rank that leaves.
  void change_membership(const membership_call& call);
  // Returns the worker whose connection this is, or null; valid until the next call that
  // connects or loses a peer.
  const member_key* member_at(peer_id peer) const { return state_.links.member_at(peer); }

  // Returns true if the payload of an arriving frame may have a place here; then exactly one of
  // frame(), no_place() and frame_lost() follows. Otherwise it is to be read away, and the
  // frame is a duplicate or will be answered.
  bool place(const runtime::frame_header& header);
  // Refuses a push or call of rows that place() has let in, for what has arrived: it is no
  // batch, or no request (wrong_size), or names a list of ids that is not kept (unknown_list).
  void refuse_payload(const runtime::frame_header& header, reply_code code);
  // Takes back a frame that place() allowed and there is no memory for: refuses a push or call,
  // and asks for an attach or device_attach again when there is some.
  void no_place(const runtime::frame_header& header);
  // Takes back a frame that place() allowed and that will not come; asks for it again if it is
  // a push or call.
  void frame_lost(const runtime::frame_header& header);
  // Takes in a frame, and carries out what the budget allows. `payload`: the gradient of a
  // push, or a call, to be kept until ingress_shell::release(); else no_payload. `bytes`: the
  // payload of an attach or device_attach, read before this returns. `copied`: bytes of the
  // payload that were copied on the way.
  void frame(const runtime::frame_header& header, payload_handle payload,
             std::span<const std::byte> bytes, std::uint64_t copied);
  // Lets the version buffer of a reply be written again: the reply has left it, or never will.
  // To be called once for each name that send_parameters() or send_results() was given, unless
  // drop() appended it.
  void sent(send_name name) { state_.replies.sent(name); }

  // Returns where calls of the shard core about that table that the owner makes itself append
  // their effects; call carry_out() afterwards.
  effects& pending(std::uint64_t job, std::uint32_t table) {
    return state_.turns.pending(job, table);
  }
  // Carries out all that waits for the job, then calls call(effects), which calls the shard
  // core about the whole job, and carries out what that appended; all before it returns.
  template <class Call>
  void about_job(std::uint64_t job, const Call& call) {
    state_.turns.drain(job);
    call(state_.turns.pending(job));
    state_.turns.drain(job);
  }
  // Carries out what waits until the budget is spent, and asks for a go_on() for the rest.
  void carry_out() { state_.turns.carry_out(); }
  // Begins the next turn, with a new budget. To be called after ingress_shell::go_on_soon().
  void go_on();
  // Sends the doorbells' acknowledgements of this turn, one frame for a member all of whose
  // tables are acknowledged. To be called after ingress_shell::post_acks_soon().
  void post_acks() { state_.acks.post(); }

 private:
  void refuse_push(const runtime::frame_header& header, reply_code code);
  void release_forgotten_calls(std::uint64_t job);
  bool place_call(const runtime::frame_header& header);
  void refuse_call(const frame_tag& tag, reply_code code);
  void on_push(const frame_tag& tag, const runtime::frame_header& header,
               payload_handle payload, std::uint64_t copied);
  void pull_of(const runtime::frame_header& header);
  void repeat_norm(const frame_tag& tag);
  void on_norm(const frame_tag& tag, double squares);
  void on_attach(const frame_tag& tag, std::span<const std::byte> place);
  void on_device_attach(const frame_tag& tag, std::uint64_t known,
                        std::span<const std::byte> places);
  void on_doorbell(frame_tag tag, const runtime::frame_header& header);
  void doorbell_table(const frame_tag& tag, const runtime::frame_header& header,
                      const shard_core::doorbell_request& request);
  shard_core& core() noexcept { return state_.core; }

  sharding::ingress_state state_;
  std::vector<payload_handle> handles_;  // of the doorbell being handled
};

}  // namespace tidegate::policies
