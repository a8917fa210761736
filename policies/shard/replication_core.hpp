// The side of a shard that faces its neighbours in the chain of its group (replica_chain.hpp):
// it hands each step to the process that follows it, chunk by chunk, one under way at a time.
// That process makes the step, hands it on if it is followed itself, and answers when all
// behind it have made it. It is between the shard core and the frames, as ingress_core is for
// workers. Below, "the primary" is the process before this one, and "the replica" the process
// behind it.
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
// One thread. No function of the shell may call back. `now` is in nanoseconds of any clock that
// does not go back. Once warm, nothing allocates but what hands chunks over.
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

  // All three must outlive this.
  replication_core(replication_shell& shell, shard_core& shard, ingress_core& ingress)
      : state_(shell, shard, ingress) {}

  // Towards the replica. Returns true if a call about this view comes too late, as of a
  // coordinator that has died: it is answered and not carried out.
  bool lead_is_over(std::uint32_t view) const noexcept { return state_.feeder.is_over(view); }
  // Leads the replica that is connected as `replica`, in this view, in place of the one before.
  // Carries out first what was decided for that one. `has_all`: the replica lacks nothing but
  // steps that are on their way; otherwise every chunk is handed over. `shares`: it may read
  // our memory. replication_shell::in_sync() follows, perhaps from within. Asserts that
  // lead_is_over(view) is false.
  void lead(std::uint32_t view, peer_id replica, bool has_all, bool shares) {
    state_.feeder.lead(view, replica, has_all, shares);
  }
  // Returns true if lead() has been called for this view and there is a replica.
  bool leads_in(std::uint32_t view) const noexcept { return state_.feeder.leads_in(view); }
  // Returns true if in_sync() has been called since the last lead(), or there was none.
  bool all_there() const noexcept { return state_.feeder.all_there(); }
  // Returns true if steps, or chunks that are handed over, are on their way to the replica.
  bool waits() const noexcept { return state_.feeder.waits(); }
  // Returns true if steps are, beside chunks that are handed over.
  bool steps_wait() const noexcept { return state_.feeder.steps_wait(); }
  // Leads nobody from this view on: what waited for the replica is answered. Asserts that
  // lead_is_over(view) is false.
  void lead_nobody(std::uint32_t view) { state_.feeder.lead_nobody(view); }
  // To be called after the shard core has opened a job, and before its tables are opened.
  void job_opened(std::uint64_t token) { state_.feeder.job_opened(token); }
  // To be called after the shard core has opened a table: offers its sums to the replica, and
  // asks the primary for what was refused for want of a table.
  void table_opened(std::uint64_t token, std::uint32_t table);
  bool leads() const noexcept { return state_.feeder.leads(); }
  // Returns true if a step, a chunk, a farewell or an offer of sums has no answer of the
  // replica.
  bool is_busy() const noexcept { return state_.feeder.is_busy(); }

  // Towards the primary. Returns true if a call about this view comes too late.
  bool follow_is_over(std::uint32_t view) const noexcept {
    return state_.receiver.is_over(view);
  }
  // Follows the primary that is connected as `primary`, in this view: takes its steps, and may
  // be handed every chunk once more. Asserts that follow_is_over(view) is false.
  void follow(std::uint32_t view, peer_id primary) { state_.receiver.follow(view, primary); }
  bool follows() const noexcept { return state_.receiver.follows(); }
  bool follows_in(std::uint32_t view) const noexcept {
    return state_.receiver.follows_in(view);
  }
  // Makes this process the first of the chain, for workers' frames of this epoch; it goes on to
  // lead the replica that it has. Returns false if it follows nobody and knows this view.
  bool promote(std::uint32_t view, std::uint64_t epoch) {
    return state_.receiver.promote(view, epoch);
  }

  // Carry out the effects of that name (effects.hpp): send now, or with the next post().
  void replicate(const effects::replicate& replicate) { state_.feeder.replicate(replicate); }
  void seed(const effects::seed& seed) { state_.feeder.seed(seed); }
  void replicate_farewell(const effects::replicate_farewell& farewell) {
    state_.feeder.replicate_farewell(farewell);
  }
  void followed(const effects::followed& followed) { state_.receiver.followed(followed); }
  // Sends the steps and answers that the turn has added. To be called after
  // replication_shell::post_soon().
  void post() {
    state_.feeder.post();
    state_.receiver.post();
  }

  // Asks the replica, to which a connection has been begun, to answer over its own. To be
  // called after lead().
  void connected_to_replica(std::int64_t now) { state_.links.connected_to_replica(now); }
  // Lets mend() make another connection in place of this one, which broke while its process is
  // not known to have ended. Returns false if it is not that of a neighbour.
  bool connection_broke(peer_id peer, std::int64_t now) {
    return state_.links.connection_broke(peer, now);
  }
  // Makes the attempts to connect that are due. To be called every few milliseconds while
  // is_mending().
  void mend(std::int64_t now) { state_.links.mend(now); }
  bool is_mending() const noexcept { return state_.links.is_mending(); }
  void set_reconnect_limits(const reconnect_limits& limits) { state_.links.set_limits(limits); }
  // Returns the neighbours that have been out of reach for `longer_than` nanoseconds.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return state_.links.outages(now, longer_than);
  }

  // Returns true if a frame is a neighbour's, and so for the calls below.
  static bool is_mine(const runtime::frame_header& header);
  // Returns true if the payload of an arriving frame may have a place here; then exactly one of
  // frame() and frame_lost() follows. Otherwise it is to be read away, and is answered if it
  // has to be.
  bool place(const runtime::frame_header& header) { return state_.receiver.place(header); }
  // Takes back a frame that place() allowed, as its payload will not come or there is no memory
  // for it; asks the primary again for a step or a chunk.
  void frame_lost(const runtime::frame_header& header) { state_.receiver.frame_lost(header); }
  // Takes in a frame, and carries out what the budget allows. `payload`: to be kept until it is
  // released, or taken by map_sums() or take_seed(); no_payload for a frame without.
  void frame(const runtime::frame_header& header, payload_handle payload);

  // Sends again what the replica has not answered in time; see worker_core::tick().
  void tick(std::int64_t now) { state_.feeder.tick(now); }
  void set_retransmit_limits(const retransmit_limits& limits) {
    state_.feeder.set_retransmit_limits(limits);
  }

 private:
  sharding::chain_state state_;
};

}  // namespace tidegate::policies
