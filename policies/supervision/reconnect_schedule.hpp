// When connections that broke are made again, and which peers cannot be reached.
//
// A connection that broke is attempted with growing pauses until an attempt is answered. An
// attempt fails when its connection breaks, and when no answer comes in time: a network that
// drops everything reports nothing. Attempts are numbered, so that the late answer to an
// earlier attempt ends nothing. A first connection counts as an attempt, too, for the same
// reason.
//
// `Key` is the owner's name of a peer. Value type; time is an argument, in nanoseconds of a
// clock that never goes back. Allocates only while some connection is broken, on either side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "policies/model/millisecond.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

struct reconnect_limits {
  std::int64_t pause_first_ns = 10 * millisecond;
  std::int64_t pause_most_ns = 1000 * millisecond;
  std::int64_t answer_first_ns = 1000 * millisecond;  // until an attempt counts as failed
  std::int64_t answer_most_ns = 2500 * millisecond;
  std::int64_t give_up_ns = 0;  // after so long a peer is forgotten; 0: never

  // Returns the limits for a cluster whose members may be out of reach for so long
  // (supervision.unreachable): a connection that works again is found within a quarter of that.
  static reconnect_limits within(std::int64_t unreachable_ns) {
    reconnect_limits limits;
    limits.answer_most_ns = std::max(limits.answer_first_ns, unreachable_ns / 4);
    return limits;
  }
};

template <class Key>
class reconnect_schedule {
 public:
  using attempt_number = std::uint64_t;  // 0: none
  struct outage {
    Key key;
    std::int64_t since_ns = 0;
  };

  explicit reconnect_schedule(const reconnect_limits& limits = {}) : limits_(limits) {}

  void set_limits(const reconnect_limits& limits) { limits_ = limits; }
  bool empty() const noexcept { return broken_.empty(); }
  bool is_broken(const Key& key) const { return broken_.contains(key); }

  // Takes in that the connection broke, or that the attempt under way failed.
  void broke(const Key& key, std::int64_t now) {
    const auto [at, fresh] = broken_.try_emplace(key);
    auto& state = at->second;
    if (fresh) state = fresh_series(now);
    if (!fresh && state.attempt == 0) return;  // its next attempt is due already
    state.attempt = 0;
    state.lost_nothing = false;
    state.due = now + state.pause;
    state.pause = std::min(2 * state.pause, limits_.pause_most_ns);
  }

  // Takes in that a connection has been begun for the first time. Returns the number of the
  // attempt, which the peer is to answer.
  attempt_number begun(const Key& key, std::int64_t now) {
    auto& state = broken_[key] = fresh_series(now);
    state.lost_nothing = true;
    return begin_attempt(state, now);
  }
  // Returns true if nothing that was sent before the attempt under way can have been lost.
  bool lost_nothing(const Key& key) const {
    const auto at = broken_.find(key);
    return at != broken_.end() && at->second.lost_nothing;
  }
  // Takes in that the peer may have lost something.
  void lost_something(const Key& key) {
    const auto at = broken_.find(key);
    if (at != broken_.end()) at->second.lost_nothing = false;
  }

  // Makes the next attempt due at once: nobody knows whether this connection carries frames.
  void doubt(const Key& key) { broken_.try_emplace(key, fresh_series(unknown)); }

  // Calls attempt(key, number) for each connection whose next attempt is due. `attempt` returns
  // false if no connection could even be begun.
  template <class Attempt>
  void attempt_due(std::int64_t now, const Attempt& attempt) {
    due_.clear();
    for (const auto& [key, state] : broken_)
      if (state.due <= now) due_.push_back(key);
    for (const auto& key : due_) {
      const auto at = broken_.find(key);
      if (at == broken_.end()) continue;  // forgotten by an attempt before it
      auto& state = at->second;
      if (state.since == unknown) state.since = now;
      if (limits_.give_up_ns > 0 && now - state.since >= limits_.give_up_ns) {
        broken_.erase(at);
        continue;
      }
      state.lost_nothing = false;
      if (!attempt(key, begin_attempt(state, now))) broke(key, now);
    }
  }

  // Returns the number of the attempt under way; 0 while none is.
  attempt_number attempt_of(const Key& key) const {
    const auto at = broken_.find(key);
    return at == broken_.end() ? 0 : at->second.attempt;
  }
  // Takes in that the peer answered this attempt. Returns false, and changes nothing, if
  // another attempt is under way, or none.
  bool answered(const Key& key, attempt_number attempt) {
    const bool is_late = attempt == 0 || attempt_of(key) != attempt;
    if (is_late && !runtime::is_planted(runtime::planted_bug::late_answer_ends_a_reconnect))
      return false;
    return broken_.erase(key) > 0;
  }
  // Forgets a peer: nobody waits for it any more, or it has a connection by another way.
  void forget(const Key& key) {
    broken_.erase(key);
    served_.erase(key);
  }

  // Takes in that the peer asks for the frames that it may have lost before this attempt of its
  // own; 0 if it lost something without an attempt. Returns false if the peer has been served
  // for this attempt already: it asks again for as long as it has no answer.
  bool is_unserved(const Key& key, attempt_number peers) {
    return peers == 0 || std::exchange(served_[key], peers) != peers;
  }

  // Returns the peers that have not been reached since `now - longer_than`.
  std::vector<outage> outages(std::int64_t now, std::int64_t longer_than) const {
    std::vector<outage> found;
    for (const auto& [key, state] : broken_)
      if (state.since != unknown && now - state.since >= longer_than)
        found.push_back({key, state.since});
    return found;
  }

 private:
  static constexpr std::int64_t unknown = -1;
  struct series {
    std::int64_t since = 0;
    std::int64_t pause = 0;   // before the attempt after the next failure
    std::int64_t answer = 0;  // how long the next attempt waits for its answer
    std::int64_t due = 0;
    attempt_number attempt = 0;
    bool lost_nothing = false;
  };

  attempt_number begin_attempt(series& state, std::int64_t now) {
    state.attempt = ++last_attempt_;
    state.due = now + state.answer;
    state.answer = std::min(2 * state.answer, limits_.answer_most_ns);
    return state.attempt;
  }

  series fresh_series(std::int64_t since) const {
    return {.since = since,
            .pause = limits_.pause_first_ns,
            .answer = limits_.answer_first_ns,
            .due = 0,
            .attempt = 0,
            .lost_nothing = false};
  }

  reconnect_limits limits_;
  std::map<Key, series> broken_;
  std::map<Key, attempt_number> served_;  // the peer's
  std::vector<Key> due_;
  attempt_number last_attempt_ = 0;
};

}  // namespace tidegate::policies
