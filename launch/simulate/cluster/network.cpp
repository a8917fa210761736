#include "launch/simulate/cluster/network.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds hangs_on =
    2 * second;  // an attempt to connect, once others would succeed

}  // namespace

void network::join(process_id id, endpoint& target, process_id whole) {
  const bool fresh = endpoints_.emplace(id, &target).second;
  TIDEGATE_ASSERT(fresh, "a process has one life");
  if (whole != 0) wholes_[id] = whole;
}

process_id network::whole(process_id id) const {
  const auto at = wholes_.find(id);
  return at == wholes_.end() ? id : at->second;
}

std::vector<process_id> network::parts_of(process_id id) const {
  std::vector<process_id> parts{id};
  for (const auto& [part, of] : wholes_)
    if (of == id && lives(part)) parts.push_back(part);
  return parts;
}

void network::meet(process_id id, process_id other) {
  met_[id].insert(other);
  met_[other].insert(id);
}

void network::leave(process_id id) {
  endpoints_.erase(id);
  for (const auto& [pair, headers] : cut_off_)
    if (pair.first == id) tell_cut_off(pair.first, pair.second);
  for (const auto peer : std::exchange(met_[id], {})) {
    met_[peer].erase(id);
    tell_lost(peer, id);
  }
  for (connection_id over = 1; over <= connections_.size(); ++over) {
    auto& link = connections_[over - 1];
    if (link.to == id && std::exchange(link.open, false)) tell_ended(over, true);
  }
  go_on(id);
}

void network::tell_lost(process_id peer, process_id id) {
  time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, peer, id] {
    run_at(peer, [this, peer, id] {
      const auto at = endpoints_.find(peer);
      if (at != endpoints_.end()) at->second->on_peer_lost(id);
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
  auto& link = connections_.back();
  const auto broken = broken_.find({from, to});
  if (!lives(to)) {
    link.open = false;
    tell_ended(over, true);
  } else if (broken != broken_.end() && broken->second.until > time_.now()) {
    link.open = false;
    if (broken->second.silent)
      time_.at(broken->second.until + hangs_on, [this, over] { tell_ended(over, false); });
    else
      tell_ended(over, false);
  } else if (broken != broken_.end()) {
    broken_.erase(broken);
  }
  if (link.open) tell_cut_off(from, to);
  return over;
}

void network::tell_cut_off(process_id from, process_id to) {
  const auto at = cut_off_.find({from, to});
  if (at == cut_off_.end()) return;
  for (const auto& header : std::exchange(at->second, {}))
    time_.after(chance_.between<nanoseconds>(1, faults_.detect_max), [this, from, to, header] {
      run_at(to, [this, from, to, header] {
        const auto receiver = endpoints_.find(to);
        if (receiver != endpoints_.end()) receiver->second->frame_lost(from, header);
      });
    });
}

void network::disconnect(connection_id over) {
  connections_[over - 1].open = false;
  connections_[over - 1].closed = true;
}

void network::disconnect_all(process_id from) {
  for (connection_id over = 1; over <= connections_.size(); ++over)
    if (connections_[over - 1].from == from) disconnect(over);
}

std::set<process_id> network::linked_to(process_id id) const {
  std::set<process_id> peers;
  for (const auto& link : connections_)
    if (link.from == id && link.open) peers.insert(link.to);
  return peers;
}

void network::break_control(process_id id, process_id other, nanoseconds until,
                            process_id late) {
  if (!lives(id) || !lives(other)) return;
  constexpr nanoseconds late_most = 2 * second;
  auto& control = control_[control_key(id, other)];
  const auto number = control.number++;
  control.until = until;
  for (const auto part : parts_of(id))
    for (const auto peer : parts_of(other)) {
      tell_broken(part, peer, number, late == id ? late_most : faults_.detect_max);
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

std::uint32_t network::control_number(process_id id, process_id other) const {
  const auto at = control_.find(control_key(id, other));
  return at == control_.end() ? 0 : at->second.number;
}

void network::partition(const std::set<process_id>& side, nanoseconds until) {
  cuts_.push_back({side, until});
}

nanoseconds network::arrival(process_id from, process_id to, draws& chance) {
  std::erase_if(cuts_, [&](const cut& entry) { return entry.until <= time_.now(); });
  auto leaves = time_.now();
  for (const auto& candidate : cuts_)
    if (candidate.side.contains(from) != candidate.side.contains(to))
      leaves = std::max(leaves, candidate.until);
  auto when = leaves + chance.between(faults_.latency_min, faults_.latency_max);
  if (const auto late = delays_.find(from); late != delays_.end()) when += late->second;
  if (faults_.straggle > 0 && chance.chance(faults_.straggle)) {
    ++counted_.late;
    when += chance.between<nanoseconds>(0, faults_.straggle_max);
  }
  return when;
}

void network::go_on(process_id id) {
  const auto at = stalled_.find(id);
  if (at == stalled_.end()) return;
  const auto waiting = std::move(at->second);
  stalled_.erase(at);
  for (const auto& action : waiting) action();
}

void network::run_at(process_id id, std::function<void()> action) {
  const auto at = stalled_.find(id);
  if (at == stalled_.end()) return action();
  at->second.push_back(std::move(action));
}

void network::flight::copy_payloads() {
  copies.reserve(frames.size());
  for (auto& frame : frames) {
    copies.emplace_back(frame.payload.begin(), frame.payload.end());
    frame.payload = copies.back();
  }
}

void network::post(connection_id over, std::span<const runtime::outgoing> frames) {
  auto flying = std::make_shared<flight>();
  flying->frames.assign(frames.begin(), frames.end());
  post(over, std::move(flying));
}

void network::post_copy(connection_id over, const runtime::outgoing& frame) {
  auto flying = std::make_shared<flight>();
  flying->frames.push_back(frame);
  flying->copy_payloads();
  post(over, std::move(flying));
}

void network::post(connection_id over, std::shared_ptr<flight> frames) {
  for (const auto& frame : frames->frames)
    TIDEGATE_ASSERT(frame.header.payload_bytes == frame.payload.size(),
                    "the header tells the payload");
  const auto& way = connections_[over - 1];
  if (!lives(way.from)) return;
  ++counted_.messages;
  const message packet{
      .from = way.from, .to = way.to, .shared = std::move(frames), .over = over};
  if (!way.open || (faults_.drop > 0 && chance_.chance(faults_.drop))) {
    ++counted_.dropped;
    time_.at(arrival(way.from, way.to, chance_), [this, packet] { tell_sent(packet); });
    return;
  }
  const bool twice = faults_.duplicate > 0 && chance_.chance(faults_.duplicate);
  send_on(packet);
  if (!twice) return;
  ++counted_.doubled;
  packet.shared->twice = true;
  send_on(packet);
}

void network::send_on(const message& packet) {
  auto when = arrival(packet.from, packet.to, chance_);
  std::uint64_t order = 0;
  if (faults_.grain > 0) {
    when += faults_.grain - when % faults_.grain;
    order = chance_.next();
  }
  time_.at(
      when, [this, packet] { arrive(packet); }, order);
}

// Once, with the first copy that arrives: what answers it comes after that. The other copy has
// the same bytes, whatever becomes of the sender's memory from now on.
void network::tell_sent(const message& packet) {
  auto& shared = *packet.shared;
  if (std::exchange(shared.reported, true)) return;
  if (shared.copies.empty() && (shared.twice || shared.frames.size() > 1))
    shared.copy_payloads();
  for (const auto& frame : shared.frames)
    if (frame.token != 0)
      run_at(packet.from, [this, from = packet.from, token = frame.token] {
        const auto at = endpoints_.find(from);
        if (at != endpoints_.end()) at->second->frame_sent(token);
      });
}

void network::arrive(const message& packet) {
  if (stalled_.contains(packet.to))
    return run_at(packet.to, [this, packet] { arrive(packet); });
  if (!lives(packet.to) || !is_open(packet)) return tell_sent(packet);
  const auto& frames = packet.shared->frames;
  if (frames.size() == 1 && !frames.front().payload.empty()) return announce(packet);
  tell_sent(packet);
  unpack(packet);
}

// Payloads have come along.
void network::unpack(const message& packet) {
  for (const auto& frame : packet.shared->frames) {
    const auto to = endpoints_.find(packet.to);
    if (to == endpoints_.end()) return;
    runtime::buffer place;
    if (!frame.payload.empty()) {
      place = to->second->frame_arriving(packet.from, frame.header);
      if (!place) continue;
      TIDEGATE_ASSERT(place.size() == frame.payload.size(), "a place fits its payload");
      std::copy(frame.payload.begin(), frame.payload.end(), place.data());
    }
    to->second->frame_arrived(packet.from, frame.header, std::move(place));
  }
}

void network::announce(const message& packet) {
  const auto& frame = packet.shared->frames.front();
  auto place = endpoints_.at(packet.to)->frame_arriving(packet.from, frame.header);
  if (!place) return tell_sent(packet);
  TIDEGATE_ASSERT(place.size() == frame.payload.size(), "a place fits its payload");
  auto takes = chance_.between(faults_.latency_min, faults_.latency_max);
  if (faults_.slow > 0 && chance_.chance(faults_.slow))
    takes += chance_.between<nanoseconds>(0, faults_.slow_max);
  time_.after(takes, [this, packet, place] { transfer(packet, place); });
}

void network::transfer(const message& packet, const runtime::buffer& place) {
  if (stalled_.contains(packet.to))
    return run_at(packet.to, [this, packet, place] { transfer(packet, place); });
  const auto to = endpoints_.find(packet.to);
  if (to == endpoints_.end()) return tell_sent(packet);
  const auto& frame = packet.shared->frames.front();
  if (!is_open(packet)) tell_sent(packet);
  if (!lives(packet.from)) return to->second->frame_lost(packet.from, frame.header);
  if (!is_open(packet)) {
    cut_off_[{packet.from, packet.to}].push_back(frame.header);
    if (linked_to(packet.from).contains(packet.to)) tell_cut_off(packet.from, packet.to);
    return;
  }
  std::copy(frame.payload.begin(), frame.payload.end(), place.data());
  tell_sent(packet);
  to->second->frame_arrived(packet.from, frame.header, place);
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
  last = std::max(last, arrival(from, to, chance_));
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

void network::tell_news(process_id from, process_id to, std::function<void()> arrive) {
  const auto control = control_.find(control_key(from, to));
  if (!lives(from) || (control != control_.end() && control->second.until > time_.now()))
    return;
  auto& last = news_[{from, to}];
  last = std::max(last, arrival(from, to, chance_of_news_));
  const auto number = control_number(from, to);
  time_.at(last, [this, from, to, number, arrive = std::move(arrive)] {
    if (!lives(to) || number != control_number(from, to)) return;
    run_at(to, [this, to, arrive] {
      if (lives(to)) arrive();
    });
  });
}

void network::tell(process_id from, process_id to, std::uint32_t number,
                   std::function<void()> arrive) {
  if (!lives(from)) return;
  auto& last = asked_[{from, to}];
  last = std::max(last, arrival(from, to, chance_));
  time_.at(last, [this, from, to, number, arrive = std::move(arrive)] {
    if (!lives(to) || number != control_number(from, to)) return;
    run_at(to, [this, to, arrive] {
      if (lives(to)) arrive();
    });
  });
}

}  // namespace tidegate::sim
