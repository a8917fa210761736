// The side of a shard that faces its neighbours in the chain of its group (replica_chain.hpp):
// it hands each step to the one that follows it, chunk by chunk, one under way at a time; that
// one makes it, hands it on if it is followed itself, and says so when all behind it have made
// it. Between the shard core and the frames, as ingress_core is for workers. Below, "the
// primary" is the one before this process, and "the replica" the one behind it.
//
// A view is one pair of neighbours, by a number that rises. Frames carry it, and the answers to
// those of another view tell their sender that it has been replaced.
//
// Where two neighbours share memory, the replica reads sums where the primary keeps them, and
// the steps and answers of one turn share frames.
//
// A replica that comes later is given the chunks as they are while training goes on; what is
// pushed to a chunk meanwhile waits until it is there.
//
// One thread. No function of the shell may call back. Once warm, nothing allocates but what
// hands chunks over.
#pragma once

#include <cstdint>

#include "policies/shard/chain_state.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/ingress_core.hpp"
#include "policies/shard/replication_shell.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

class replication_core {
 public:
  using effects = shard_effects;
  using peer_id = ingress_shell::peer_id;

  replication_core(replication_shell& shell, shard_core& shard, ingress_core& ingress)
      : state_(shell, shard, ingress) {}

  // Towards the replica. What a coordinator that has died said of it comes late: it is
  // answered, and means nothing.
  bool lead_is_over(std::uint32_t view) const noexcept { return state_.feeder.is_over(view); }
  // `has_all`: nothing needs to be handed over but what is on its way; else everything anew.
  // in_sync() follows. `shares`: may read our memory.
  void lead(std::uint32_t view, peer_id replica, bool has_all, bool shares) {
    state_.feeder.lead(view, replica, has_all, shares);
  }
  // An earlier call has said so; then in_sync() may have been told.
  bool leads_in(std::uint32_t view) const noexcept { return state_.feeder.leads_in(view); }
  bool all_there() const noexcept { return state_.feeder.all_there(); }
  // Steps, or chunks that are handed over, are on their way to the replica.
  bool waits() const noexcept { return state_.feeder.waits(); }
  // There is no replica any more.
  void lead_nobody(std::uint32_t view) { state_.feeder.lead_nobody(view); }
  // A job has been opened; before its tables.
  void job_opened(std::uint64_t token) { state_.feeder.job_opened(token); }
  void table_opened(std::uint64_t token, std::uint32_t table);
  bool leads() const noexcept { return state_.feeder.leads(); }
  // Something is on its way to the replica.
  bool is_busy() const noexcept { return state_.feeder.is_busy(); }

  // Towards the primary.
  bool follow_is_over(std::uint32_t view) const noexcept {
    return state_.receiver.is_over(view);
  }
  void follow(std::uint32_t view, peer_id primary) { state_.receiver.follow(view, primary); }
  bool follows() const noexcept { return state_.receiver.follows(); }
  bool follows_in(std::uint32_t view) const noexcept {
    return state_.receiver.follows_in(view);
  }
  // From now on the first of the chain, for workers' frames of this epoch; whom it leads it
  // leads on. False: an earlier call has said so.
  bool promote(std::uint32_t view, std::uint64_t epoch) {
    return state_.receiver.promote(view, epoch);
  }

  // Effects of the shard core, when they are carried out.
  void replicate(const effects::replicate& replicate) { state_.feeder.replicate(replicate); }
  void seed(const effects::seed& seed) { state_.feeder.seed(seed); }
  void replicate_farewell(const effects::replicate_farewell& farewell) {
    state_.feeder.replicate_farewell(farewell);
  }
  void followed(const effects::followed& followed) { state_.receiver.followed(followed); }
  // Posts what the turn has added.
  void post() {
    state_.feeder.post();
    state_.receiver.post();
  }

  // The connection to the replica has been begun: it is asked to answer over its own.
  void connected_to_replica(std::int64_t now) { state_.links.connected_to_replica(now); }
  // The connection of that peer broke, and its process is not known to have ended: mend() makes
  // another. Returns false if it is not that of a neighbour.
  bool connection_broke(peer_id peer, std::int64_t now) {
    return state_.links.connection_broke(peer, now);
  }
  // Makes the attempts that are due. To be called every few milliseconds while is_mending().
  void mend(std::int64_t now) { state_.links.mend(now); }
  bool is_mending() const noexcept { return state_.links.is_mending(); }
  void set_reconnect_limits(const reconnect_limits& limits) { state_.links.set_limits(limits); }
  // Neighbours that have been out of reach for so long.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return state_.links.outages(now, longer_than);
  }

  // Returns true if a frame is of a neighbour, and so for the calls below.
  static bool is_mine(const runtime::frame_header& header);
  // Returns true if a frame with payload that is arriving may have a place here.
  bool place(const runtime::frame_header& header) { return state_.receiver.place(header); }
  void frame_lost(const runtime::frame_header& header) { state_.receiver.frame_lost(header); }
  void frame(const runtime::frame_header& header, payload_handle payload);

  // Sends again what has not been answered; see worker_core::tick.
  void tick(std::int64_t now) { state_.feeder.tick(now); }
  void set_retransmit_limits(const retransmit_limits& limits) {
    state_.feeder.set_retransmit_limits(limits);
  }

 private:
  sharding::chain_state state_;
};

}  // namespace tidegate::policies
