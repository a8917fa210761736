// The side of a shard that faces its neighbours in the chain of its group (shard_group.hpp): it
// hands each step to the one that follows it, chunk by chunk, one under way at a time; that one
// makes it, hands it on if it is followed itself, and says so when all behind it have made it.
// Between the shard core and the frames, as front_core is for workers. Below, "the primary" is
// the one before this process, and "the replica" the one behind it.
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
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "policies/shard/core.hpp"
#include "policies/shard/front_core.hpp"
#include "policies/supervision/patience.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// The two processes beside this one in the chain.
enum class neighbour : std::uint8_t { primary, replica };

class replication_shell {
 public:
  using effects = shard_effects;
  using peer_id = front_shell::peer_id;

  virtual ~replication_shell() = default;

  virtual void send_plain(peer_id to, const runtime::frame_header& header) = 0;
  // Where the sums of a table lie: in the payload, with their bytes as header.version.
  virtual void lend_sums(peer_id to, const runtime::frame_header& header) = 0;
  // The gradient of a step, what.payload, is to lie there, too.
  virtual void keep_sum(const effects::replicate& replicate) = 0;
  // Of a replica: reads them from now on; the payload goes. False: it cannot.
  virtual bool map_sums(const runtime::frame_header& header, payload_handle place) = 0;
  // The sum in that plane, to be released; no_payload: it cannot be read.
  virtual payload_handle sum_in_place(std::uint32_t slot, std::uint32_t plane) = 0;
  // Connects to this neighbour anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(neighbour to) = 0;
  // Call post() before the network is progressed again.
  virtual void post_soon() = 0;
  // The gradient of a step: what.payload, or the sum that was kept. header.payload_bytes is
  // set.
  virtual void send_step(peer_id to, const runtime::frame_header& header,
                         const effects::replicate& replicate) = 0;
  // The chunk as it is; see chunk_seed. Sent again it is as it was the first time.
  virtual void send_seed(peer_id to, const runtime::frame_header& header,
                         const effects::seed& seed, const shard_core::seed_state& state,
                         bool again) = 0;
  // It is there: what was kept to send it again may go.
  virtual void seed_arrived(std::uint32_t slot) = 0;
  // Of a replica: what has arrived into the planes of the slot. Errors: corrupt.
  virtual runtime::expected<shard_core::seed_state> take_seed(std::uint32_t slot,
                                                              payload_handle payload) = 0;
  virtual void release_payload(payload_handle payload) = 0;
  virtual std::uint64_t chunk_bytes(std::uint32_t slot) const = 0;
  // The replica has everything of this view.
  virtual void in_sync(std::uint32_t view) = 0;
  // Another process is the primary of the group.
  virtual void replaced(std::uint32_t view) = 0;
};

class replication_core {
 public:
  using effects = shard_effects;
  using peer_id = front_shell::peer_id;

  replication_core(replication_shell& shell, shard_core& shard, front_core& front)
      : shell_(shell), shard_(shard), front_(front) {}

  // Towards the replica. What a coordinator that has died said of it comes late: it is
  // answered, and means nothing.
  bool lead_is_over(std::uint32_t view) const noexcept { return view < led_view_; }
  // `has_all`: nothing needs to be handed over but what is on its way; else everything anew.
  // in_sync() follows. `shares`: may read our memory.
  void lead(std::uint32_t view, peer_id replica, bool has_all, bool shares);
  // An earlier call has said so; then in_sync() may have been told.
  bool leads_in(std::uint32_t view) const noexcept { return replica_ && view == led_view_; }
  bool all_there() const noexcept { return synced_; }
  // Steps, or chunks that are handed over, are on their way to the replica.
  bool waits() const noexcept { return !under_way_.empty(); }
  // There is none any more.
  void lead_nobody(std::uint32_t view);
  // A job has been opened; before its tables.
  void job_opened(std::uint64_t token);
  void table_opened(std::uint64_t token, std::uint32_t table);
  bool leads() const noexcept { return replica_.has_value(); }
  // Something is on its way to the replica.
  bool is_busy() const noexcept {
    return !under_way_.empty() || !farewells_.empty() || !lending_.empty();
  }

  // Towards the primary.
  bool follow_is_over(std::uint32_t view) const noexcept { return view < view_; }
  void follow(std::uint32_t view, peer_id primary);
  bool follows() const noexcept { return follows_; }
  bool follows_in(std::uint32_t view) const noexcept { return follows_ && view == view_; }
  // From now on the first of the chain, for workers' frames of this epoch; whom it leads it
  // leads on. False: an earlier call has said so.
  bool promote(std::uint32_t view, std::uint64_t epoch);

  // Effects of the shard core, when they are carried out.
  void replicate(const effects::replicate& replicate);
  void seed(const effects::seed& seed);
  void replicate_farewell(const effects::replicate_farewell& farewell);
  void followed(const effects::followed& followed);
  // Posts what the turn has added.
  void post();

  // The connection to the replica has been begun: it is asked to answer over its own.
  void connected_to_replica(std::int64_t now) {
    send_resend(neighbour::replica, runtime::frame_kind::resend,
                reconnects_.begun(neighbour::replica, now));
  }
  // The connection of that peer broke, and its process is not known to have ended: mend() makes
  // another. Returns false if it is not that of a neighbour.
  bool connection_broke(peer_id peer, std::int64_t now);
  // Makes the attempts that are due. To be called every few milliseconds while is_mending().
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void set_reconnect_limits(const reconnect_limits& limits) { reconnects_.set_limits(limits); }
  // Neighbours that have been out of reach for so long.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }

  static bool is_mine(const runtime::frame_header& header);
  // Of one with payload: whether it may have a place.
  bool place(const runtime::frame_header& header);
  void frame_lost(const runtime::frame_header& header);
  void frame(const runtime::frame_header& header, payload_handle payload);

  // Sends again what has not been answered; see worker_core::tick.
  void tick(std::int64_t now);
  void set_patience(const patience_limits& limits) { patience_ = limits; }

 private:
  struct under_way {
    bool is_seed = false;
    effects::replicate step;
    effects::seed chunk;
    bool in_place = false;
    patience again;
  };
  // Of one stay: a rank may join again.
  struct farewell_name {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
    std::uint64_t since = 0;  // its first clock
    friend auto operator<=>(const farewell_name&, const farewell_name&) = default;
  };

  // replication_runs.cpp
  void lend(std::uint64_t job, std::uint32_t table);
  void send_lend(std::uint64_t job, std::uint32_t table);
  void on_lend(const runtime::frame_header& header, payload_handle place);
  void on_lent(const runtime::frame_header& header);
  void on_steps(const runtime::frame_header& header);
  void on_followed_run(const runtime::frame_header& header);
  void post_steps(const effects::replicate& first, std::uint32_t count);
  std::span<const std::uint32_t> run_of(const runtime::frame_header& header) const;

  // replication_reconnect.cpp
  void on_resend(const runtime::frame_header& header);
  void send_resend(neighbour to, runtime::frame_kind kind, std::uint64_t attempt);
  void resend_all();

  void carry_out_all();
  void forget_all();
  void seed_more();
  void tell_in_sync();
  void send(const under_way& transfer, bool again);
  farewell_name farewell_of(std::uint64_t job, std::uint32_t rank) const {
    return {job, rank, shard_.registry().first_clock(job, rank)};
  }
  void send_farewell(const farewell_name& name);
  void on_followed(const runtime::frame_header& header);
  void on_farewell(const runtime::frame_header& header);
  void answer(const runtime::frame_header& header, refusal code);
  void answer_farewell(const farewell_name& name);
  runtime::frame_header header_for(runtime::frame_kind kind, std::uint32_t view,
                                   std::uint32_t slot) const;
  static shard_core::followed_step step_of(const runtime::frame_header& header);

  replication_shell& shell_;
  shard_core& shard_;
  front_core& front_;
  std::uint32_t view_ = 0;          // with the primary, or since when this is it
  std::optional<peer_id> primary_;  // of this view, or of an earlier one
  std::uint32_t followed_since_ = 0;
  bool follows_ = false;
  bool lacks_table_ = false;      // something of the primary was refused for want of a table
  std::set<farewell_name> owed_;  // to the primary, when the replica has them
  std::uint32_t led_view_ = 0;    // with the replica, or since when there is none
  std::optional<peer_id> replica_;
  bool shares_ = false;
  bool synced_ = true;                            // in_sync() has been told
  std::map<std::uint32_t, under_way> under_way_;  // by slot
  std::map<farewell_name, patience> farewells_;
  struct lending {
    std::uint64_t job = 0;
    patience again;
  };
  std::map<std::uint32_t, lending> lending_;  // tables, not answered yet
  std::set<std::uint32_t> lent_;              // tables
  std::vector<effects::replicate> steps_;     // to be posted
  std::vector<effects::followed> followed_;   // likewise
  std::vector<std::uint32_t> slots_;          // of the run being answered
  std::size_t seeding_ = 0;
  patience_limits patience_;
  reconnect_schedule<neighbour> reconnects_;
};

}  // namespace tidegate::policies
