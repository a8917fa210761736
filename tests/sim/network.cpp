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
    time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, peer, who] {
      const auto at = endpoints_.find(peer);
      if (at != endpoints_.end()) at->second->on_peer_lost(who);
    });
  }
}

void network::partition(const std::set<process_id>& side, nanoseconds until) {
  cuts_.push_back({side, until});
}

nanoseconds network::arrival(process_id from, process_id to) {
  std::erase_if(cuts_, [&](const cut& one) { return one.until <= time_.now(); });
  auto leaves = time_.now();
  for (const auto& one : cuts_)
    if (one.side.contains(from) != one.side.contains(to)) leaves = std::max(leaves, one.until);
  auto when = leaves + chance_.between(faults_.latency_min, faults_.latency_max);
  if (faults_.straggle > 0 && chance_.chance(faults_.straggle)) {
    ++counted_.late;
    when += chance_.between<nanoseconds>(0, faults_.straggle_max);
  }
  return when;
}

void network::post(process_id from, process_id to, const runtime::frame_header& header,
                   memory_view payload, std::uint64_t token) {
  TIDEGATE_ASSERT(header.payload_bytes == payload.count * sizeof(float),
                  "the header tells the payload");
  if (!lives(from)) return;
  ++counted_.frames;
  meet(from, to);
  const frame what{from, to, header, token, std::make_shared<flight>()};
  what.shared->payload = std::move(payload);
  if (faults_.drop > 0 && chance_.chance(faults_.drop)) {
    ++counted_.dropped;
    time_.at(arrival(from, to), [this, what] { tell_sent(what); });
    return;
  }
  const bool twice = faults_.duplicate > 0 && chance_.chance(faults_.duplicate);
  time_.at(arrival(from, to), [this, what] { arrive(what); });
  if (!twice) return;
  ++counted_.doubled;
  what.shared->twice = true;
  time_.at(arrival(from, to), [this, what] { arrive(what); });
}

// Once, with the first copy that arrives: what answers it comes after that. The other copy has
// the same bytes, whatever becomes of the sender's memory from now on.
void network::tell_sent(const frame& what) {
  auto& shared = *what.shared;
  if (std::exchange(shared.told, true)) return;
  if (shared.twice && shared.payload) {
    const auto values = shared.payload.values();
    shared.payload = {std::make_shared<std::vector<float>>(values.begin(), values.end()), 0,
                      values.size()};
  }
  const auto from = endpoints_.find(what.from);
  if (from != endpoints_.end()) from->second->on_sent(what.token);
}

void network::arrive(const frame& what) {
  const auto to = endpoints_.find(what.to);
  if (to == endpoints_.end()) return tell_sent(what);
  if (!what.shared->payload) {
    tell_sent(what);
    return to->second->on_frame(what.from, what.header, {});
  }
  auto place = to->second->place(what.from, what.header);
  if (!place) return tell_sent(what);
  TIDEGATE_ASSERT(place.count == what.shared->payload.count, "a place fits its payload");
  time_.after(chance_.between(faults_.latency_min, faults_.latency_max),
              [this, what, place] { transfer(what, place); });
}

void network::transfer(const frame& what, memory_view place) {
  const auto to = endpoints_.find(what.to);
  if (to == endpoints_.end()) return tell_sent(what);
  if (!lives(what.from)) return to->second->on_frame_lost(what.from, what.header);
  const auto from = what.shared->payload.values();
  std::copy(from.begin(), from.end(), place.values().begin());
  tell_sent(what);
  to->second->on_frame(what.from, what.header, std::move(place));
}

void network::ask(process_id from, process_id to, std::function<void()> arrive,
                  std::function<void()> fail) {
  if (!lives(from)) return;
  meet(from, to);
  auto& last = asked_[{from, to}];
  last = std::max(last, arrival(from, to));
  time_.at(last, [this, from, to, arrive = std::move(arrive), fail = std::move(fail)] {
    if (lives(to)) return arrive();
    if (lives(from) && fail) fail();
  });
}

}  // namespace tidegate::sim
