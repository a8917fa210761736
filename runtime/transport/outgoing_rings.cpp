#include "runtime/transport/outgoing_rings.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::runtime {

std::optional<peer_id> outgoing_rings::open(const host_place& to) {
  auto ring = std::make_unique<outgoing_ring>(own_);
  if (!ring->open(to).ok()) return {};
  rings_.push_back(std::move(ring));
  owes_notes_ = true;
  return name_of(rings_.size() - 1);
}

peer_id outgoing_rings::add_lost(const status& why) {
  rings_.push_back(nullptr);
  const auto peer = name_of(rings_.size() - 1);
  reports_.peer_lost(peer, why);
  return peer;
}

void outgoing_rings::greet() {
  owes_notes_ = false;
  link_hello hello{.kind = note_kind::hello, .from = self_};
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    auto* ring = rings_[i].get();
    if (ring == nullptr || ring->is_greeted()) continue;
    hello.number = i;
    ring->greet(hello);
    owes_notes_ = owes_notes_ || !ring->is_greeted();
  }
}

void outgoing_rings::on_welcome(const link_hello& note) {
  if (note.number >= rings_.size() || note.slot >= cursor_page_view::slots) return;
  auto* ring = rings_[note.number].get();
  if (ring != nullptr && ring->reader() == note.from.link) ring->on_welcome(note.slot);
}

void outgoing_rings::on_farewell(const link_hello& note) {
  for (std::size_t i = 0; i < rings_.size(); ++i)
    if (rings_[i] && rings_[i]->reader() == note.from.link)
      lose(i, {errc::not_found, "the peer has closed its link"});
}

// Only this ring: its reader lives, and may have been sent another one since.
void outgoing_rings::on_refusal(const link_hello& note) {
  if (note.number >= rings_.size()) return;
  const auto* ring = rings_[note.number].get();
  if (ring == nullptr || ring->reader() != note.from.link) return;
  if (ring->departs()) return;  // it ends in the next part(), with what comes from there
  lose(note.number, {errc::unavailable, "the peer has closed the connection"});
}

bool outgoing_rings::is_connected_to(std::uint64_t link) const noexcept {
  return std::any_of(rings_.begin(), rings_.end(), [&](const auto& ring) {
    return ring && ring->reader() == link && !ring->departs();
  });
}

bool outgoing_rings::depart(peer_id peer) noexcept {
  auto* ring = find(peer);
  if (ring == nullptr) return false;
  ring->depart();
  parting_ = true;
  return true;
}

std::vector<std::size_t> outgoing_rings::list_departing() {
  parting_ = false;
  std::vector<std::size_t> departing;
  for (std::size_t i = 0; i < rings_.size(); ++i)
    if (rings_[i] && rings_[i]->departs()) departing.push_back(i);
  return departing;
}

unsigned outgoing_rings::end(const std::vector<std::size_t>& departing) {
  unsigned happened = 0;
  for (const auto i : departing) {
    if (!rings_[i]) continue;
    end(i, {errc::unavailable, "the connection was closed"});
    ++happened;
  }
  return happened;
}

void outgoing_rings::end(std::size_t ring, const status& why) {
  rings_[ring]->end(reports_, why);
  rings_[ring].reset();
}

void outgoing_rings::lose(std::size_t ring, const status& why) {
  const bool reported = rings_[ring]->departs();
  end(ring, why);
  if (!reported) reports_.peer_lost(name_of(ring), why);
}

unsigned outgoing_rings::pump() {
  unsigned happened = 0;
  // By index: a sink may connect.
  for (std::size_t i = 0; i < rings_.size(); ++i)
    if (rings_[i]) happened += rings_[i]->pump(delivery_);
  return happened;
}

void outgoing_rings::want_room() const noexcept {
  for (const auto& ring : rings_)
    if (ring) ring->want_room();
}

void outgoing_rings::need_no_room() const noexcept {
  for (const auto& ring : rings_)
    if (ring) ring->need_no_room();
}

bool outgoing_rings::has_work() const noexcept {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const auto& ring) { return ring && ring->has_work(); });
}

bool outgoing_rings::is_flushed() const noexcept {
  return std::all_of(rings_.begin(), rings_.end(),
                     [](const auto& ring) { return !ring || ring->is_flushed(); });
}

void outgoing_rings::close() {
  const link_hello farewell{.kind = note_kind::farewell, .from = self_};
  for (auto& ring : rings_) {
    if (!ring) continue;
    ring->close(farewell);
    ring.reset();
  }
}

}  // namespace tidegate::runtime
