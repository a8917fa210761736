#include "tests/sim/network.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

void network::join(process_id who, endpoint& what) {
  const bool fresh = endpoints_.emplace(who, &what).second;
  TIDEGATE_ASSERT(fresh, "a process has one life");
}

void network::meet(process_id one, process_id other) {
  met_[one].insert(other);
  met_[other].insert(one);
}

void network::leave(process_id who) {
  endpoints_.erase(who);
  for (const auto peer : std::exchange(met_[who], {})) {
    met_[peer].erase(who);
    tell_lost(peer, who);
  }
  go_on(who);
}

void network::tell_lost(process_id peer, process_id who) {
  time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, peer, who] {
    run_at(peer, [this, peer, who] {
      const auto at = endpoints_.find(peer);
      if (at != endpoints_.end()) at->second->on_peer_lost(who);
    });
  });
}

void network::tell_broken(process_id to, process_id peer) {
  time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, to, peer] {
    run_at(to, [this, to, peer] {
      const auto at = endpoints_.find(to);
      if (at != endpoints_.end()) at->second->on_connection_broke(peer);
    });
  });
}

void network::break_connection(process_id from, process_id to, nanoseconds until, bool silent) {
  if (!lives(from) || !lives(to)) return;
  ++opened_[{from, to}];
  broken_[{from, to}] = {.until = until, .silent = silent};
  tell_broken(from, to);
}

void network::reconnect(process_id from, process_id to) {
  if (!lives(from)) return;
  ++opened_[{from, to}];
  const auto broken = broken_.find({from, to});
  if (!lives(to)) return tell_broken(from, to);
  if (broken != broken_.end() && broken->second.until > time_.now()) {
    if (!broken->second.silent) tell_broken(from, to);
    return;
  }
  if (broken != broken_.end()) broken_.erase(broken);
  closed_.erase({from, to});
}

void network::cut_off(process_id one, process_id other, nanoseconds until) {
  cuts_.push_back({{one}, until, other});
  met_[one].erase(other);
  met_[other].erase(one);
  ++connection_[std::minmax(one, other)];
  tell_lost(one, other);
  tell_lost(other, one);
}

void network::partition(const std::set<process_id>& side, nanoseconds until) {
  cuts_.push_back({side, until, 0});
}

nanoseconds network::arrival(process_id from, process_id to) {
  std::erase_if(cuts_, [&](const cut& one) { return one.until <= time_.now(); });
  auto leaves = time_.now();
  for (const auto& one : cuts_)
    if (one.side.contains(from) != one.side.contains(to) &&
        (one.from_only == 0 || one.from_only == from || one.from_only == to))
      leaves = std::max(leaves, one.until);
  auto when = leaves + chance_.between(faults_.latency_min, faults_.latency_max);
  if (faults_.straggle > 0 && chance_.chance(faults_.straggle)) {
    ++counted_.late;
    when += chance_.between<nanoseconds>(0, faults_.straggle_max);
  }
  return when;
}

void network::go_on(process_id who) {
  const auto at = stalled_.find(who);
  if (at == stalled_.end()) return;
  const auto waiting = std::move(at->second);
  stalled_.erase(at);
  for (const auto& one : waiting) one();
}

void network::run_at(process_id who, std::function<void()> what) {
  const auto at = stalled_.find(who);
  if (at == stalled_.end()) return what();
  at->second.push_back(std::move(what));
}

void network::post(process_id from, process_id to, std::vector<outgoing> frames) {
  for (const auto& one : frames)
    TIDEGATE_ASSERT(one.header.payload_bytes == one.payload.count * sizeof(float),
                    "the header tells the payload");
  if (!lives(from)) return;
  ++counted_.messages;
  meet(from, to);
  const message what{from, to, std::make_shared<flight>(), opened_[{from, to}]};
  what.shared->frames = std::move(frames);
  const bool lost = broken_.contains({from, to});
  if (lost || (faults_.drop > 0 && chance_.chance(faults_.drop))) {
    ++counted_.dropped;
    time_.at(arrival(from, to), [this, what] { tell_sent(what); });
    return;
  }
  const bool twice = faults_.duplicate > 0 && chance_.chance(faults_.duplicate);
  send_on(what);
  if (!twice) return;
  ++counted_.doubled;
  what.shared->twice = true;
  send_on(what);
}

void network::send_on(const message& what) {
  auto when = arrival(what.from, what.to);
  std::uint64_t order = 0;
  if (faults_.grain > 0) {
    when += faults_.grain - when % faults_.grain;
    order = chance_.next();
  }
  time_.at(
      when, [this, what] { arrive(what); }, order);
}

// Once, with the first copy that arrives: what answers it comes after that. The other copy has
// the same bytes, whatever becomes of the sender's memory from now on.
void network::tell_sent(const message& what) {
  auto& shared = *what.shared;
  if (std::exchange(shared.told, true)) return;
  if (shared.twice || shared.frames.size() > 1)
    for (auto& one : shared.frames) {
      if (!one.payload) continue;
      const auto values = one.payload.values();
      one.payload = {std::make_shared<std::vector<float>>(values.begin(), values.end()), 0,
                     values.size()};
    }
  for (const auto& one : shared.frames)
    run_at(what.from, [this, from = what.from, token = one.token] {
      const auto at = endpoints_.find(from);
      if (at != endpoints_.end()) at->second->on_sent(token);
    });
}

void network::arrive(const message& what) {
  if (stalled_.contains(what.to)) return run_at(what.to, [this, what] { arrive(what); });
  if (!lives(what.to) || !is_open(what)) return tell_sent(what);
  const auto& frames = what.shared->frames;
  if (frames.size() == 1 && frames.front().payload) return announce(what);
  tell_sent(what);
  unpack(what);
}

// Payloads have come along.
void network::unpack(const message& what) {
  for (const auto& one : what.shared->frames) {
    const auto to = endpoints_.find(what.to);
    if (to == endpoints_.end()) return;
    memory_view place;
    if (one.payload) {
      place = to->second->place(what.from, one.header);
      if (!place) continue;
      TIDEGATE_ASSERT(place.count == one.payload.count, "a place fits its payload");
      const auto from = one.payload.values();
      std::copy(from.begin(), from.end(), place.values().begin());
    }
    to->second->on_frame(what.from, one.header, std::move(place));
  }
}

void network::announce(const message& what) {
  const auto& frame = what.shared->frames.front();
  auto place = endpoints_.at(what.to)->place(what.from, frame.header);
  if (!place) return tell_sent(what);
  TIDEGATE_ASSERT(place.count == frame.payload.count, "a place fits its payload");
  auto takes = chance_.between(faults_.latency_min, faults_.latency_max);
  if (faults_.slow > 0 && chance_.chance(faults_.slow))
    takes += chance_.between<nanoseconds>(0, faults_.slow_max);
  time_.after(takes, [this, what, place] { transfer(what, place); });
}

void network::transfer(const message& what, memory_view place) {
  if (stalled_.contains(what.to))
    return run_at(what.to, [this, what, place] { transfer(what, place); });
  const auto to = endpoints_.find(what.to);
  if (to == endpoints_.end()) return tell_sent(what);
  const auto& frame = what.shared->frames.front();
  if (!is_open(what)) tell_sent(what);
  if (!lives(what.from) || !is_open(what))
    return to->second->on_frame_lost(what.from, frame.header);
  const auto from = frame.payload.values();
  std::copy(from.begin(), from.end(), place.values().begin());
  tell_sent(what);
  to->second->on_frame(what.from, frame.header, std::move(place));
}

void network::ask(process_id from, process_id to, std::function<void()> arrive,
                  std::function<void()> fail) {
  if (!lives(from)) return;
  meet(from, to);
  auto& last = asked_[{from, to}];
  last = std::max(last, arrival(from, to));
  const auto over = connection_[std::minmax(from, to)];
  time_.at(last, [this, from, to, over, arrive = std::move(arrive), fail = std::move(fail)] {
    if (lives(to) && over != connection_[std::minmax(from, to)]) return;
    if (lives(to))
      return run_at(to, [this, to, arrive] {
        if (lives(to)) arrive();
      });
    if (fail)
      run_at(from, [this, from, fail] {
        if (lives(from)) fail();
      });
  });
}

}  // namespace tidegate::sim
