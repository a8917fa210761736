#include "launch/simulate/cluster/network.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds hangs_on =
    2 * second;  // an attempt to connect, once others would succeed

}  // namespace

void network::join(process_id who, endpoint& what, process_id whole) {
  const bool fresh = endpoints_.emplace(who, &what).second;
  TIDEGATE_ASSERT(fresh, "a process has one life");
  if (whole != 0) wholes_[who] = whole;
}

process_id network::whole(process_id who) const {
  const auto at = wholes_.find(who);
  return at == wholes_.end() ? who : at->second;
}

std::vector<process_id> network::parts_of(process_id who) const {
  std::vector<process_id> parts{who};
  for (const auto& [part, of] : wholes_)
    if (of == who && lives(part)) parts.push_back(part);
  return parts;
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
  for (connection_id over = 1; over <= connections_.size(); ++over) {
    auto& one = connections_[over - 1];
    if (one.to == who && std::exchange(one.open, false)) tell_ended(over, true);
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

void network::tell_ended(connection_id over, bool died) {
  const auto owner = connections_[over - 1].from;
  if (!lives(owner)) return;
  time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, over, owner, died] {
    run_at(owner, [this, over, owner, died] {
      const auto at = endpoints_.find(owner);
      if (at != endpoints_.end() && !connections_[over - 1].closed)
        at->second->connection_lost(over, died);
    });
  });
}

void network::break_connection(process_id from, process_id to, nanoseconds until, bool silent) {
  if (!lives(from) || !lives(to)) return;
  broken_[{from, to}] = {.until = until, .silent = silent};
  refuse(from, to);
}

void network::refuse(process_id from, process_id by) {
  for (connection_id over = 1; over <= connections_.size(); ++over) {
    auto& connected = connections_[over - 1];
    if (connected.from == from && connected.to == by && std::exchange(connected.open, false))
      tell_ended(over, false);
  }
}

connection_id network::connect(process_id from, process_id to) {
  connections_.push_back({from, to});
  const auto over = static_cast<connection_id>(connections_.size());
  auto& made = connections_.back();
  const auto broken = broken_.find({from, to});
  if (!lives(to)) {
    made.open = false;
    tell_ended(over, true);
  } else if (broken != broken_.end() && broken->second.until > time_.now()) {
    made.open = false;
    if (broken->second.silent)
      time_.at(broken->second.until + hangs_on, [this, over] { tell_ended(over, false); });
    else
      tell_ended(over, false);
  } else if (broken != broken_.end()) {
    broken_.erase(broken);
  }
  return over;
}

void network::disconnect(connection_id over) {
  connections_[over - 1].open = false;
  connections_[over - 1].closed = true;
}

void network::disconnect_all(process_id from) {
  for (connection_id over = 1; over <= connections_.size(); ++over)
    if (connections_[over - 1].from == from) disconnect(over);
}

std::set<process_id> network::linked_to(process_id who) const {
  std::set<process_id> peers;
  for (const auto& one : connections_)
    if (one.from == who && one.open) peers.insert(one.to);
  return peers;
}

void network::break_control(process_id one, process_id other, nanoseconds until,
                            process_id late) {
  if (!lives(one) || !lives(other)) return;
  constexpr nanoseconds late_most = 2 * second;
  auto& control = control_[control_key(one, other)];
  const auto number = control.number++;
  control.until = until;
  for (const auto part : parts_of(one))
    for (const auto peer : parts_of(other)) {
      tell_broken(part, peer, number, late == one ? late_most : faults_.detect_max);
      tell_broken(peer, part, number, late == other ? late_most : faults_.detect_max);
    }
}

void network::tell_broken(process_id to, process_id peer, std::uint32_t number,
                          nanoseconds most) {
  time_.after(chance_.between<nanoseconds>(1, most), [this, to, peer, number] {
    run_at(to, [this, to, peer, number] {
      const auto at = endpoints_.find(to);
      if (at != endpoints_.end()) at->second->on_control_broke(peer, number);
    });
  });
}

std::uint32_t network::control_number(process_id one, process_id other) const {
  const auto at = control_.find(control_key(one, other));
  return at == control_.end() ? 0 : at->second.number;
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

void network::flight::copy_payloads() {
  copies.reserve(frames.size());
  for (auto& one : frames) {
    copies.emplace_back(one.payload.begin(), one.payload.end());
    one.payload = copies.back();
  }
}

void network::post(connection_id over, std::span<const runtime::outgoing> frames) {
  auto made = std::make_shared<flight>();
  made->frames.assign(frames.begin(), frames.end());
  post(over, std::move(made));
}

void network::post_copy(connection_id over, const runtime::outgoing& frame) {
  auto made = std::make_shared<flight>();
  made->frames.push_back(frame);
  made->copy_payloads();
  post(over, std::move(made));
}

void network::post(connection_id over, std::shared_ptr<flight> frames) {
  for (const auto& one : frames->frames)
    TIDEGATE_ASSERT(one.header.payload_bytes == one.payload.size(),
                    "the header tells the payload");
  const auto& way = connections_[over - 1];
  if (!lives(way.from)) return;
  ++counted_.messages;
  const message what{way.from, way.to, std::move(frames), over};
  if (!way.open || (faults_.drop > 0 && chance_.chance(faults_.drop))) {
    ++counted_.dropped;
    time_.at(arrival(way.from, way.to), [this, what] { tell_sent(what); });
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
  if (shared.copies.empty() && (shared.twice || shared.frames.size() > 1))
    shared.copy_payloads();
  for (const auto& one : shared.frames)
    if (one.token != 0)
      run_at(what.from, [this, from = what.from, token = one.token] {
        const auto at = endpoints_.find(from);
        if (at != endpoints_.end()) at->second->frame_sent(token);
      });
}

void network::arrive(const message& what) {
  if (stalled_.contains(what.to)) return run_at(what.to, [this, what] { arrive(what); });
  if (!lives(what.to) || !is_open(what)) return tell_sent(what);
  const auto& frames = what.shared->frames;
  if (frames.size() == 1 && !frames.front().payload.empty()) return announce(what);
  tell_sent(what);
  unpack(what);
}

// Payloads have come along.
void network::unpack(const message& what) {
  for (const auto& one : what.shared->frames) {
    const auto to = endpoints_.find(what.to);
    if (to == endpoints_.end()) return;
    runtime::buffer place;
    if (!one.payload.empty()) {
      place = to->second->frame_arriving(what.from, one.header);
      if (!place) continue;
      TIDEGATE_ASSERT(place.size() == one.payload.size(), "a place fits its payload");
      std::copy(one.payload.begin(), one.payload.end(), place.data());
    }
    to->second->frame_arrived(what.from, one.header, std::move(place));
  }
}

void network::announce(const message& what) {
  const auto& frame = what.shared->frames.front();
  auto place = endpoints_.at(what.to)->frame_arriving(what.from, frame.header);
  if (!place) return tell_sent(what);
  TIDEGATE_ASSERT(place.size() == frame.payload.size(), "a place fits its payload");
  auto takes = chance_.between(faults_.latency_min, faults_.latency_max);
  if (faults_.slow > 0 && chance_.chance(faults_.slow))
    takes += chance_.between<nanoseconds>(0, faults_.slow_max);
  time_.after(takes, [this, what, place] { transfer(what, place); });
}

void network::transfer(const message& what, const runtime::buffer& place) {
  if (stalled_.contains(what.to))
    return run_at(what.to, [this, what, place] { transfer(what, place); });
  const auto to = endpoints_.find(what.to);
  if (to == endpoints_.end()) return tell_sent(what);
  const auto& frame = what.shared->frames.front();
  if (!is_open(what)) tell_sent(what);
  if (!lives(what.from) || !is_open(what))
    return to->second->frame_lost(what.from, frame.header);
  std::copy(frame.payload.begin(), frame.payload.end(), place.data());
  tell_sent(what);
  to->second->frame_arrived(what.from, frame.header, place);
}

void network::ask(process_id from, process_id to, std::function<void()> arrive,
                  std::function<void()> fail) {
  if (!lives(from)) return;
  meet(from, to);
  auto failed = [this, from, fail = std::move(fail)] {
    if (!fail) return;
    run_at(from, [this, from, fail] {
      if (lives(from)) fail();
    });
  };
  const auto control = control_.find(control_key(from, to));
  if (control != control_.end() && control->second.until > time_.now())
    return time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), std::move(failed));
  auto& last = asked_[{from, to}];
  last = std::max(last, arrival(from, to));
  const auto number = control_number(from, to);
  time_.at(last,
           [this, from, to, number, arrive = std::move(arrive), failed = std::move(failed)] {
             if (!lives(to)) return failed();
             if (number != control_number(from, to)) return;
             run_at(to, [this, to, arrive] {
               if (lives(to)) arrive();
             });
           });
}

void network::tell(process_id from, process_id to, std::uint32_t number,
                   std::function<void()> arrive) {
  if (!lives(from)) return;
  auto& last = asked_[{from, to}];
  last = std::max(last, arrival(from, to));
  time_.at(last, [this, from, to, number, arrive = std::move(arrive)] {
    if (!lives(to) || number != control_number(from, to)) return;
    run_at(to, [this, to, arrive] {
      if (lives(to)) arrive();
    });
  });
}

}  // namespace tidegate::sim
