#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "runtime/transport/host_link_impl.hpp"

namespace tidegate::runtime {

unsigned host_link::read_notes() {
  std::array<bell_note, 16> notes;
  unsigned happened = 0;
  std::size_t count = 0;
  do {
    count = bell_.read(notes);
    for (const auto& note : std::span(notes).first(count)) {
      ++happened;
      if (note.kind == note_kind::hello) on_hello(note);
      if (note.kind == note_kind::welcome) on_welcome(note);
      if (note.kind == note_kind::farewell) on_farewell(note);
      if (note.kind == note_kind::refusal) on_refusal(note);
    }
  } while (count == notes.size());
  return happened;
}

void host_link::on_hello(const bell_note& note) {
  sweep();
  const auto refuse = [&](const std::string& why) {
    bad_frame({errc::corrupt, "process " + std::to_string(note.from.bell.pid) +
                                  " of this host cannot be listened to: " + why});
  };
  if (note.from.magic != self_.magic) return refuse("its link is of another version");
  if (is_gone(note.from.bell)) return;  // it has died since
  auto in = std::make_unique<ring_in>();
  auto rope = bell_rope::open(note.from.bell);
  if (!rope) return refuse(rope.error().message());
  auto memory = segment::open(note.ring);
  std::string why;
  if (!memory)
    why = memory.error().message();
  else if (memory->size() < ring_bytes)
    why = "its ring is too small";
  else if (free_slots_.empty())
    why = "there are " + std::to_string(desk_view::slots) + " others already";
  if (!why.empty()) {
    // A ring that its writer has given up meanwhile cannot be opened, and is nobody's loss.
    if (is_gone(note.ring)) return;
    say_refusal(note.number, std::move(*rope));
    return refuse(why);
  }
  in->from = note.from;
  in->number = note.number;
  in->rope = std::move(*rope);
  in->memory = std::move(*memory);
  in->memory.hide();
  in->ring = ring_reader({in->memory.data(), ring_bytes});
  in->slot = free_slots_.back();
  free_slots_.pop_back();
  desk_view(desk_.data()).read(in->slot).store(0, std::memory_order_relaxed);
  in_.push_back(std::move(in));
  notes_wait_ = true;
  greet();
}

void host_link::on_welcome(const bell_note& note) {
  if (note.number >= out_.size() || note.slot >= desk_view::slots) return;
  auto* out = out_[note.number].get();
  if (out == nullptr || out->slot || out->to.link != note.from.link) return;
  out->slot = note.slot;
  out->memory.hide();
}

void host_link::on_farewell(const bell_note& note) {
  for (std::size_t i = 0; i < out_.size(); ++i)
    if (out_[i] && out_[i]->to.link == note.from.link)
      lose(i, {errc::not_found, "the peer has closed its link"});
  for (auto& in : in_)
    if (in->from.link == note.from.link) in->departs = parting_ = true;
}

// Only this ring: its reader lives, and may have been sent another one since.
void host_link::on_refusal(const bell_note& note) {
  if (note.number >= out_.size()) return;
  const auto* out = out_[note.number].get();
  if (out == nullptr || out->to.link != note.from.link) return;
  if (out->departs) return;  // part() ends it, with what comes from there
  lose(note.number, {errc::unavailable, "the peer has closed the connection"});
}

// Those who died before we ever connected to them, so that nobody will tell us of their death.
void host_link::sweep() {
  for (auto& in : in_)
    if (!is_connected_to(in->from.link) && is_gone(in->from.bell))
      in->departs = parting_ = true;
}

bool host_link::is_connected_to(std::uint64_t whose) const noexcept {
  return std::any_of(out_.begin(), out_.end(), [&](const auto& out) {
    return out && out->to.link == whose && !out->departs;
  });
}

// Introduces rings to their readers, and readers to their rings, and says which rings are not
// read; again later where a pipe is full.
void host_link::greet() {
  std::erase_if(refusals_, [&](const refused& ring) {
    return ring.rope.pull(ring.note) || is_gone(ring.rope.name());
  });
  notes_wait_ = !refusals_.empty();
  bell_note note;
  note.from = self_;
  note.kind = note_kind::hello;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    auto* out = out_[i].get();
    if (out == nullptr || out->greeted) continue;
    note.number = i;
    note.ring = out->memory.name();
    out->greeted = out->rope.pull(note);
    notes_wait_ = notes_wait_ || !out->greeted;
  }
  note.kind = note_kind::welcome;
  note.ring = {};
  for (auto& in : in_) {
    if (in->welcomed) continue;
    note.number = in->number;
    note.slot = in->slot;
    in->welcomed = in->rope.pull(note);
    notes_wait_ = notes_wait_ || !in->welcomed;
  }
}

// Its writer would wait for this ring for ever if it were not told.
void host_link::say_refusal(std::uint64_t number, bell_rope rope) {
  bell_note note;
  note.from = self_;
  note.kind = note_kind::refusal;
  note.number = number;
  if (rope.pull(note)) return;
  refusals_.push_back({std::move(rope), note});
  notes_wait_ = true;
}

// As far as the pipe has room: who does not hear of it is told by supervision.
void host_link::say_farewell(const bell_rope& rope) {
  bell_note note;
  note.from = self_;
  note.kind = note_kind::farewell;
  rope.pull(note);
}

}  // namespace tidegate::runtime
