#include "runtime/device/updates/chunk_pages.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr std::uint64_t alignment = 256;                        // bytes, of frames and places
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;  // that is allocated at a time

constexpr std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

expected<chunk_pages> chunk_pages::make(device& owner, const options& sizes) {
  TIDEGATE_ASSERT(sizes.frame_bytes > 0 && sizes.frames_max >= wanted_max,
                  "an operation has frames for all of its pages");
  chunk_pages result(owner);
  result.sizes_ = sizes;
  result.sizes_.frame_bytes = round_up(sizes.frame_bytes);
  const auto moves = owner.make_stream();
  if (!moves) return fail(moves.error());
  result.moves_ = *moves;
  for (std::size_t i = 0; i < wanted_max; ++i)  // without them it is of no use
    if (const auto added = result.add_frame(); !added) return fail(added.error());
  result.unused_ = wanted_max;
  return result;
}

chunk_pages::page chunk_pages::add(std::uint64_t bytes) {
  TIDEGATE_ASSERT(bytes > 0 && bytes <= sizes_.frame_bytes, "a page fits into a frame");
  pages_.push_back({.bytes = bytes});
  return static_cast<page>(pages_.size() - 1);
}

std::byte* chunk_pages::at(page number) const {
  const auto in = pages_[number].in;
  TIDEGATE_ASSERT(in != none, "a page that was brought");
  return frames_[in].data;
}

status chunk_pages::bring(std::span<const wanted> pages, stream on) {
  TIDEGATE_ASSERT(pages.size() <= wanted_max, "as many as there are frames");
  ++calls_;
  for (const auto& item : pages) {
    const auto in = pages_[item.number].in;
    if (in == none) continue;
    frames_[in].wanted_by = calls_;
    touch(in);
  }
  for (const auto& item : pages) {
    auto in = pages_[item.number].in;
    if (in == none) {
      const auto taken = take_frame();
      if (!taken) return taken.error();
      in = *taken;
      if (auto moved = move_in(item.number, item.mode, in, on); !moved.ok()) return moved;
      frames_[in].wanted_by = calls_;
      touch(in);
    }
    frames_[in].is_dirty = frames_[in].is_dirty || item.mode != access::read;
  }
  return {};
}

status chunk_pages::used(std::span<const wanted> pages, stream by) {
  for (const auto& item : pages)
    if (auto recorded = device_->record(by, frames_[pages_[item.number].in].used);
        !recorded.ok())
      return recorded;
  return {};
}

expected<chunk_pages::frame_index> chunk_pages::take_frame() {
  if (unused_ > 0) return static_cast<frame_index>(--unused_);
  if (frames_.size() < sizes_.frames_max) {
    const auto added = add_frame();
    if (added || added.error().code() != errc::io_error) return added;
    sizes_.frames_max = frames_.size();  // others use the device, too
  }
  const auto index = last_used();
  auto& frame = frames_[index];
  if (!is_planted(planted_bug::device_page_taken_while_used))
    if (auto waits = device_->wait(moves_, frame.used); !waits.ok()) return fail(waits);
  if (auto moved = move_out(frame); !moved.ok()) return fail(moved);
  return index;
}

expected<chunk_pages::frame_index> chunk_pages::add_frame() {
  if (frames_free_ == 0) {
    const auto left = sizes_.frames_max - frames_.size();
    const auto count = std::clamp<std::uint64_t>(piece_bytes / sizes_.frame_bytes, 1, left);
    auto memory = device_->allocate(count * sizes_.frame_bytes);
    if (!memory) return fail(memory.error());
    frame_memory_.push_back(std::move(*memory));
    frames_free_ = count;
  }
  const auto arrived = device_->make_event();
  if (!arrived) return fail(arrived.error());
  const auto used = device_->make_event();
  if (!used) return fail(used.error());
  const auto& piece = frame_memory_.back();
  const auto offset = piece.size() - frames_free_ * sizes_.frame_bytes;
  --frames_free_;
  frames_.push_back({.data = piece.data() + offset, .arrived = *arrived, .used = *used});
  return static_cast<frame_index>(frames_.size() - 1);
}

// There are more frames than one call wants.
chunk_pages::frame_index chunk_pages::last_used() const {
  auto index = oldest_;
  while (frames_[index].wanted_by == calls_) index = frames_[index].newer;
  return index;
}

status chunk_pages::move_out(frame& from) {
  auto& page = pages_[from.holds];
  page.in = none;
  if (!from.is_dirty || is_planted(planted_bug::device_page_not_moved_out)) return {};
  const auto home = home_of(page);
  if (!home) return home.error();
  ++moved_;
  return device_->copy_out(moves_, {*home, page.bytes}, from.data);
}

status chunk_pages::move_in(page number, access mode, frame_index to, stream on) {
  auto& page = pages_[number];
  auto& frame = frames_[to];
  page.in = to;
  frame.holds = number;
  frame.is_dirty = false;
  status queued;
  if (mode != access::overwrite && page.home != nullptr) {
    ++moved_;
    queued = device_->copy_in(moves_, frame.data, {page.home, page.bytes});
  } else if (mode != access::overwrite) {
    queued = device_->clear(moves_, frame.data, page.bytes);
  }
  if (queued.ok()) queued = device_->record(moves_, frame.arrived);
  if (!queued.ok() || is_planted(planted_bug::device_page_not_waited_for)) return queued;
  return device_->wait(on, frame.arrived);
}

expected<std::byte*> chunk_pages::home_of(page_state& page) {
  if (page.home != nullptr) return page.home;
  const auto bytes = round_up(page.bytes);
  if (homes_.empty() || home_used_ + bytes > homes_.back().bytes().size()) {
    auto memory = device_->allocate_host(std::max(piece_bytes, bytes));
    if (!memory) return fail(memory.error());
    homes_.push_back(std::move(*memory));
    home_used_ = 0;
  }
  page.home = homes_.back().bytes().data() + home_used_;
  home_used_ += bytes;
  return page.home;
}

// The frame is the one that was used last.
void chunk_pages::touch(frame_index index) {
  unlink(index);
  auto& frame = frames_[index];
  frame.older = newest_;
  frame.newer = none;
  if (newest_ != none) frames_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == none) oldest_ = index;
}

void chunk_pages::unlink(frame_index index) {
  auto& frame = frames_[index];
  if (frame.newer != none) frames_[frame.newer].older = frame.older;
  if (frame.older != none) frames_[frame.older].newer = frame.newer;
  if (newest_ == index) newest_ = frame.older;
  if (oldest_ == index) oldest_ = frame.newer;
  frame.newer = frame.older = none;
}

}  // namespace tidegate::runtime::devices
