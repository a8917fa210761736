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
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policies/protocol/control_calls.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/queue.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

// A process that pushes here. A rank has a new one when it comes back.
struct member_key {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;

  friend auto operator<=>(const member_key&, const member_key&) = default;
};

using send_name = std::uint64_t;  // of a reply that is on its way; 0: none

class front_shell {
 public:
  using effects = shard_effects;
  using inputs = std::span<const effects::input>;
  using peer_id = std::uint32_t;  // the shell's name of a connection

  virtual ~front_shell() = default;

  // Steps, which differ between a shard and an aggregator. `from`: what is summed.
  virtual void apply(const effects::apply& apply, inputs from) = 0;
  virtual void hand_on(const effects::hand_on& handover, inputs from) = 0;
  virtual void ask(const effects::ask& ask) = 0;
  virtual void snapshot(const effects::snapshot& snapshot,
                        const shard_core::cut_state& state) = 0;
  // To and of a replica; see replication_core.
  virtual void replicate(const effects::replicate& replicate) = 0;
  virtual void seed(const effects::seed& seed) = 0;
  virtual void replicate_farewell(const effects::replicate_farewell& farewell) = 0;
  virtual void followed(const effects::followed& followed) = 0;

  // Frames. The second tells where the parameters of header.table are. The third sends those of
  // a slot in a plane and calls front_core::sent(name) when they have left it, or never will.
  virtual void send(peer_id to, const runtime::frame_header& header) = 0;
  virtual void send_place(peer_id to, const runtime::frame_header& header) = 0;
  virtual void send_parameters(peer_id to, const runtime::frame_header& header,
                               std::uint32_t slot, std::uint32_t plane, send_name name) = 0;
  // Whoever was there is gone: what waits to be sent there is forgotten, with the names of
  // replies among it appended; what is on its way ends soon.
  virtual void drop(peer_id to, std::vector<send_name>& names) = 0;

  // Connects to this member anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(const member_key& member) = 0;

  // Memory. Maps the gradients of a member for a table, whose place is in the payload of an
  // attach: none, or no_window.
  virtual refusal map_gradients(const member_key& worker, std::uint32_t table,
                                std::span<const std::byte> place) = 0;
  // Names the chunk's part of such a gradient, which stays readable until release().
  virtual payload_handle keep_in_place(const member_key& worker, std::uint32_t table,
                                       std::uint32_t half, std::uint32_t slot) = 0;
  virtual void release(payload_handle payload) = 0;
  // It is gone or replaced: nothing of its memory is named any more.
  virtual void forget(const member_key& worker) = 0;
  virtual std::uint64_t bytes_of(std::uint32_t slot) const = 0;

  // Call front_core::go_on() soon, after a look at the network.
  virtual void go_on_soon() = 0;
  // Call front_core::post_acks() before the network is progressed again.
  virtual void post_acks_soon() = 0;
  // For the log.
  virtual void note_refusal(const frame_tag& tag, refusal code) = 0;
};

class front_core {
 public:
  using effects = shard_effects;
  using peer_id = front_shell::peer_id;

  static constexpr std::uint64_t turn_bytes_default = 2U << 20U;

  // `index`: of the shard, as its answers name it. `turn_bytes`: summed before the network is
  // looked at again.
  front_core(front_shell& shell, shard_core& core, std::uint32_t index,
             std::uint64_t turn_bytes = turn_bytes_default)
      : shell_(shell), core_(core), index_(index), turn_bytes_(turn_bytes) {}

  // A worker is to be expected. `connect`: connected() follows, unless that fails. One that is
  // known and out of reach is connected to by mend().
  struct admission {
    refusal code = refusal::none;
    bool connect = false;
    std::uint64_t first_clock = 0;  // see admit_worker_call
  };
  admission admit(const admit_worker_call& call);
  void connected(const admit_worker_call& call, peer_id peer);
  // The process at the other end has ended.
  void peer_lost(peer_id peer);
  // The connection broke, and the process at the other end is not known to have ended: mend()
  // makes another.
  void connection_broke(peer_id peer, std::int64_t now);
  // Makes the attempts that are due. To be called every few milliseconds while is_mending().
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  // The shard core has a table of that job that it did not have: members whose frames were
  // refused for want of it are asked to send them again.
  void table_opened(std::uint64_t job) { ask_the_untold(job); }
  // Members of that job hear from this process from now on, which was a replica: connections
  // that were made again meanwhile have to prove themselves.
  void promoted(std::uint64_t job);
  void set_reconnect_limits(const reconnect_limits& limits) {
    reconnects_.set_limits(with_end(limits));
  }
  // Members that have been out of reach for so long.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }
  // A worker is not expected any more.
  std::uint64_t shut_out(const shut_out_call& call);
  std::uint64_t hold(const hold_call& call);
  void change_roster(const roster_call& call);
  // Whose connection this is, if it is a worker's; null: nobody's.
  const member_key* member_at(peer_id peer) const;

  // Of a frame with payload that is arriving: whether it may have a place here. What is not
  // placed has been answered or is a duplicate.
  bool place(const runtime::frame_header& header);
  // There is no memory for what place() allowed.
  void no_place(const runtime::frame_header& header);
  // What place() allowed will not come.
  void frame_lost(const runtime::frame_header& header);
  // A frame is here. `payload`: of a push. `bytes`: of an attach. `copied`: on the way.
  void frame(const runtime::frame_header& header, payload_handle payload,
             std::span<const std::byte> bytes, std::uint64_t copied);
  void sent(send_name name);

  // For effects of calls about that table that the owner makes itself; carry_out() follows.
  effects& pending(std::uint64_t job, std::uint32_t table);
  // Calls the core about the whole job, call(effects), when all that waits for the job has been
  // carried out, and carries out what it says.
  template <class Call>
  void about_job(std::uint64_t job, const Call& call) {
    drain(job);
    call(queue_.of(job, runtime::whole_job));
    drain(job);
  }
  // Of what waits, until the budget is spent; the rest follows with go_on().
  void carry_out();
  void go_on();
  // Tells members what of theirs has been applied in this turn: whose tables all have been is
  // told at once.
  void post_acks();

 private:
  struct member {
    std::uint32_t incarnation = 0;
    peer_id peer = 0;
    bool lost = false;
    bool unverified = false;  // nobody has answered over the connection since it was made again
    std::set<std::uint32_t> attached;        // tables
    std::uint64_t payload_bytes_copied = 0;  // of its pushes
  };
  struct sending {
    std::uint64_t job = 0;
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint32_t plane = 0;
    bool counts = false;  // the core waits for it
  };
  using inputs = front_shell::inputs;

  void refuse_push(const runtime::frame_header& header, refusal code);
  void on_push(const frame_tag& tag, const runtime::frame_header& header,
               payload_handle payload, std::uint64_t copied);
  void pull_of(const runtime::frame_header& header);
  void on_attach(const frame_tag& tag, std::span<const std::byte> place);
  void on_ring(frame_tag tag, const runtime::frame_header& header);
  void ring_table(const frame_tag& tag, std::uint32_t half,
                  const shard_core::ring_request& request);
  void leave(peer_id peer);
  void on_resend(const frame_tag& tag, const runtime::frame_header& header);
  void refused(const frame_tag& tag, refusal code);
  void wait_to_ask(const frame_tag& tag);
  void ask_the_untold(std::uint64_t job);
  void ask_the_unplaced();
  void send_resend(const frame_tag& tag, runtime::frame_kind kind, std::uint64_t attempt);
  void give_up_replies(std::uint64_t job, std::uint32_t rank);

  void go_on_soon();
  void drain(std::uint64_t job);
  template <class Effect>
  inputs inputs_of(const Effect& effect, inputs all);
  void perform(const effects::apply& apply, inputs all);
  void perform(const effects::hand_on& handover, inputs all);
  void perform(const effects::ask& ask, inputs) { shell_.ask(ask); }
  void perform(const effects::snapshot& snapshot, inputs) {
    shell_.snapshot(snapshot, core_.snapshots().cut_of(snapshot.slot));
  }
  void perform(const effects::replicate& replicate, inputs) { shell_.replicate(replicate); }
  void perform(const effects::seed& seed, inputs) { shell_.seed(seed); }
  void perform(const effects::replicate_farewell& farewell, inputs) {
    shell_.replicate_farewell(farewell);
  }
  void perform(const effects::followed& followed, inputs) { shell_.followed(followed); }
  void perform(const effects::release& release, inputs) { shell_.release(release.payload); }
  void perform(const effects::acknowledge& acknowledge, inputs);
  void perform(const effects::reply& reply, inputs);
  void perform(const effects::ring_acknowledge& acknowledge, inputs);
  void send_ack(const effects::ring_acknowledge& acknowledge);
  using acks = std::span<const effects::ring_acknowledge>;
  void send_acks(acks of_push);
  bool acks_all(acks of_push, const std::set<std::uint32_t>& tables) const;
  void perform(const effects::ring_reply& reply, inputs);

  member* find(std::uint64_t job, std::uint32_t rank);
  const member* reachable(const frame_tag& tag);
  void send(const frame_tag& tag, runtime::frame_header header);
  send_name take_name(const effects::reply& reply);
  void reply_sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane);

  front_shell& shell_;
  shard_core& core_;
  std::uint32_t index_;
  std::uint64_t turn_bytes_;
  shard_queue queue_;
  std::uint64_t budget_ = 0;  // bytes that may be summed in this turn
  bool going_on_ = false;     // the shell will call go_on()
  std::map<std::uint64_t, std::map<std::uint32_t, member>> members_;  // by job, by rank
  std::map<peer_id, member_key> peers_;
  // A member may have exited because it has finished, of which only the launcher hears. One
  // that lives says so when it makes its own connection again.
  static reconnect_limits with_end(reconnect_limits limits) {
    limits.give_up_ns = 24 * limits.answer_most_ns;
    return limits;
  }
  // Whose frames were refused for want of a coordinator's word, or of room for them.
  std::set<member_key> untold_;
  bool unplaced_ = false;  // there are some whose frames found no room
  reconnect_schedule<member_key> reconnects_{with_end({})};
  std::vector<payload_handle> handles_;  // of the ring being handled
  std::vector<sending> sending_;         // by name - 1
  std::vector<send_name> sending_free_;
  std::vector<send_name> dropped_;
  struct answer_due {
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
  };
  std::vector<answer_due> answers_due_;
  std::vector<effects::ring_acknowledge> acks_;  // of this turn
};

}  // namespace tidegate::policies
