#include "runtime/rows/page_clock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::rows {

namespace {

// Blocks that the hand visits in any balance(), and for each page that has come.
constexpr std::uint64_t visits_least = 16;
constexpr std::uint64_t visits_per_page = 2;
// Blocks that are audited in a balance().
constexpr std::size_t audited_blocks = 16;

std::uint64_t count_of(page_mask pages) noexcept {
  return static_cast<std::uint64_t>(std::popcount(pages));
}

constexpr page_mask without(page_mask pages, page_mask others) noexcept {
  return static_cast<page_mask>(pages & ~others);
}

// Pages of a block, from one to before another.
constexpr page_mask pages_between(std::uint64_t first, std::uint64_t end) noexcept {
  return static_cast<page_mask>((1U << end) - (1U << first));
}

}  // namespace

page_clock::page_clock(std::uint64_t pages_max) noexcept : pages_max_(pages_max) {
  TIDEGATE_ASSERT(pages_max >= 1, "room for a page");
}

std::uint32_t page_clock::add_file() {
  const auto free = std::find_if(files_.begin(), files_.end(),
                                 [](const file_state& file) { return !file.is_there; });
  const auto number = static_cast<std::uint32_t>(free - files_.begin());
  if (free == files_.end()) files_.emplace_back();
  files_[number].is_there = true;
  return number;
}

void page_clock::remove_file(std::uint32_t file) {
  auto& gone = files_.at(file);
  for (const auto& block : gone.blocks) {
    in_memory_ -= count_of(block.in_memory);
    leaving_ -= count_of(block.leaves);
  }
  blocks_ -= gone.blocks.size();
  gone = {};
  std::erase_if(queue_, [file](const page_block& block) { return block.file == file; });
}

void page_clock::use(std::uint32_t file, std::uint64_t first, std::uint64_t count, bool writes,
                     std::vector<std::uint64_t>& absent) {
  auto& blocks = files_[file].blocks;
  const auto last = (first + count - 1) / block_pages;
  if (last >= blocks.size()) {
    blocks_ += last + 1 - blocks.size();
    blocks.resize(static_cast<std::size_t>(last + 1));
  }
  for (auto number = first / block_pages; number <= last; ++number) {
    auto& block = blocks[static_cast<std::size_t>(number)];
    const auto begin = number * block_pages;
    const auto pages =
        pages_between(std::max(first, begin) - begin,
                      std::min<std::uint64_t>(first + count - begin, block_pages));
    block.used |= pages;
    if (writes) block.changed |= pages;
    auto missing = without(pages, block.in_memory);
    block.in_memory |= missing;
    in_memory_ += count_of(missing);
    came_ += count_of(missing);
    for (; missing != 0; missing = static_cast<page_mask>(missing & (missing - 1U)))
      absent.push_back(begin + static_cast<std::uint64_t>(std::countr_zero(missing)));
  }
}

void page_clock::advance(page_block& hand) const noexcept {
  ++hand.number;
  if (hand.file < files_.size() && exists(hand)) return;
  hand.number = 0;
  do hand.file = hand.file + 1 < files_.size() ? hand.file + 1 : 0;
  while (files_[hand.file].blocks.empty());
}

void page_clock::set_in_memory(block_state& block, page_mask pages) {
  leaving_ -= count_of(without(block.leaves, pages));
  block.leaves &= pages;
  in_memory_ += count_of(pages);
  in_memory_ -= count_of(block.in_memory);
  block.in_memory = pages;
}

// What is there and was not known has been used by somebody else. What was used lately is
// there, or is being read.
void page_clock::note(block_state& block, page_mask found) {
  const auto others = without(found, block.in_memory);
  set_in_memory(block, static_cast<page_mask>(found | (block.in_memory & block.used)));
  block.used |= others;
}

void page_clock::visit(const page_block& number, page_device& device) {
  auto& block = at(number);
  const auto cold = without(without(block.in_memory, block.used), block.leaves);
  block.used = 0;
  if (cold == 0) return;
  const auto changed = static_cast<page_mask>(cold & block.changed);
  if (changed != 0) device.start_writing(number, changed);
  block.changed = without(block.changed, changed);
  if (block.leaves == 0) queue_.push_back(number);
  block.leaves |= cold;
  leaving_ += count_of(cold);
}

void page_clock::move_hand(page_device& device) {
  // Blocks that are known to have nothing cost next to nothing.
  do advance(hand_);
  while (at(hand_).in_memory == 0);
  visit(hand_, device);
}

void page_clock::drop_first(page_device& device) {
  const auto number = queue_.front();
  queue_.pop_front();
  auto& block = at(number);
  const auto cold = without(block.leaves, block.used);
  leaving_ -= count_of(block.leaves);
  block.leaves = 0;
  drop(number, cold, device);
}

void page_clock::drop(const page_block& number, page_mask pages, page_device& device) {
  if (pages == 0) return;
  auto& block = at(number);
  const auto stays = static_cast<page_mask>(device.drop(number, pages) & pages);
  const auto gone = without(pages, stays);
  block.used = without(block.used, gone);
  block.changed = without(block.changed, gone);
  set_in_memory(block, without(block.in_memory, gone));
  dropped_ += count_of(gone);
  is_held_ = is_held_ || stays != 0;
}

void page_clock::let_go(std::uint32_t file, std::span<const std::uint64_t> pages,
                        page_device& device) {
  for (std::size_t i = 0; i < pages.size();) {
    const page_block number{file, pages[i] / block_pages};
    page_mask mask = 0;
    for (; i < pages.size() && pages[i] / block_pages == number.number; ++i)
      mask |= static_cast<page_mask>(1U << pages[i] % block_pages);
    const auto& block = at(number);
    drop(number, without(static_cast<page_mask>(mask & block.in_memory), block.changed),
         device);
  }
}

void page_clock::audit(page_device& device) {
  advance(audited_);
  const auto& blocks = files_[audited_.file].blocks;
  const auto count = std::min<std::uint64_t>(audited_blocks, blocks.size() - audited_.number);
  std::array<page_mask, audited_blocks> found{};
  device.look(audited_, std::span(found).first(static_cast<std::size_t>(count)));
  for (std::uint64_t i = 0; i < count; ++i)
    note(at({audited_.file, audited_.number + i}), found[static_cast<std::size_t>(i)]);
  audited_.number += count - 1;
}

// Pages that leave are counted as gone by the hand, and as there by the bound: between the two
// lies what is being written. Where pages are held by others, no round would help.
void page_clock::balance(page_device& device) {
  if (blocks_ == 0) return;
  audit(device);
  const auto goal = pages_max_ - slack();
  const auto usual = std::min(visits_least + visits_per_page * came_, 2 * blocks_);
  const auto most = std::exchange(is_held_, false) ? usual : 2 * blocks_;
  came_ = 0;
  for (std::uint64_t visits = 0; visits < most; ++visits) {
    const auto stays = in_memory_ - leaving_;
    if (stays <= goal || (visits >= usual && stays <= pages_max_)) break;
    move_hand(device);
  }
  while (in_memory_ > pages_max_ && !queue_.empty()) drop_first(device);
}

}  // namespace tidegate::runtime::rows
