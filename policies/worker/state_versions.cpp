#include "policies/worker/state_versions.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Clocks that a version may be needed at, before and after the one that it is written for.
constexpr std::uint64_t needed_before = 2;
constexpr std::uint64_t needed_after = 1;

// Takes in a part of a version, by words. Each step is a bijection, so that a word that differs
// always shows.
std::uint64_t add_to_checksum(std::uint64_t sum, std::span<const std::byte> bytes) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
  for (std::size_t at = 0; at + sizeof sum <= bytes.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum = std::rotl((sum ^ word) * odd, 29);
  }
  return sum;
}

}  // namespace

std::uint64_t state_versions::word_at(std::size_t offset) const {
  std::uint64_t word = 0;
  std::memcpy(&word, memory_.bytes().data() + offset, sizeof word);
  return word;
}

std::uint64_t state_versions::head(head_word word) const {
  const auto value = word_at(static_cast<std::size_t>(word) * sizeof(std::uint64_t));
  return word == head_word::known_from || word == head_word::begun ? ~value : value;
}

void state_versions::set_head(head_word word, std::uint64_t value) {
  const bool inverted = word == head_word::known_from || word == head_word::begun;
  memory_.store(static_cast<std::size_t>(word) * sizeof value, inverted ? ~value : value);
}

void state_versions::store_slot(std::uint64_t slot, slot_word word, std::uint64_t value) {
  memory_.store(offset_of(slot) + static_cast<std::size_t>(word) * sizeof value, value);
}

state_versions::slot_head state_versions::head_of(std::uint64_t slot) const {
  const auto at = [&](slot_word word) {
    return word_at(offset_of(slot) + static_cast<std::size_t>(word) * sizeof(std::uint64_t));
  };
  return {.number = at(slot_word::number),
          .clock = at(slot_word::clock),
          .length = at(slot_word::length),
          .checksum = at(slot_word::checksum)};
}

std::span<const std::byte> state_versions::bytes_of(std::uint64_t slot) const {
  const auto length = std::min<std::size_t>(head_of(slot).length, version_bytes_);
  return memory_.bytes().subspan(offset_of(slot) + state_slot_head_bytes, length);
}

bool state_versions::is_whole(std::uint64_t slot) const {
  const auto head = head_of(slot);
  if (head.number == 0 || head.length > version_bytes_) return false;
  const auto begin = runtime::mix64(head.clock ^ runtime::mix64(head.length));
  return add_to_checksum(begin, bytes_of(slot)) == head.checksum ||
         is_planted(planted_bug::state_counts_before_it_is_written);
}

std::optional<std::uint64_t> state_versions::find(std::uint64_t clock) const {
  std::optional<std::uint64_t> newest;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto head = head_of(slot);
    if (head.clock != clock || head.number == 0) continue;
    if (newest && head_of(*newest).number > head.number) continue;
    if (is_whole(slot)) newest = slot;
  }
  return newest;
}

bool state_versions::is_replaced(const slot_head& head) const {
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    if (const auto other = head_of(slot);
        other.clock == head.clock && other.number > head.number)
      return true;
  return false;
}

state_found state_versions::judge(std::uint64_t clock) const {
  if (find(clock)) return state_found::whole;
  const bool is_known = head(head_word::known_from) <= clock || clock == 0;
  return is_known && clock < head(head_word::begun) ? state_found::none : state_found::lost;
}

state_found state_versions::resume(std::uint32_t epoch, std::uint64_t clock) {
  resumed_ = clock;
  const bool is_fresh = head(head_word::epoch) == 0;
  if (is_fresh && (head(head_word::has_history) != 0 || clock == 0))
    set_head(head_word::known_from, clock);
  const auto found = judge(clock);
  if (head(head_word::epoch) != epoch) begin_epoch(epoch, clock, found);
  found_ = found == state_found::whole ? find(clock) : std::nullopt;
  older_ = found == state_found::lost ? find_before(clock) : std::nullopt;
  return found;
}

// Killed anywhere in here, the worker resumes at the same clock, and finds the same once more.
void state_versions::begin_epoch(std::uint32_t epoch, std::uint64_t clock, state_found found) {
  if (found == state_found::lost) {
    TIDEGATE_RARE("state: the version of the clock where a job goes on is not there");
    set_head(head_word::known_from, never);
  }
  if (found == state_found::none && clock == 0) set_head(head_word::known_from, 0);
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    if (head_of(slot).clock != clock) store_slot(slot, slot_word::number, 0);
  if (found != state_found::whole) set_head(head_word::begun, never);
  set_head(head_word::epoch, epoch);
}

std::span<const std::byte> state_versions::found() const {
  TIDEGATE_ASSERT(found_.has_value(), "a version was found");
  return bytes_of(*found_);
}

std::optional<std::uint64_t> state_versions::find_before(std::uint64_t clock) const {
  std::optional<std::uint64_t> newest;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto head = head_of(slot);
    if (head.number == 0 || head.clock >= clock || !is_whole(slot)) continue;
    if (!newest || head_of(*newest).clock < head.clock) newest = slot;
  }
  return newest ? find(head_of(*newest).clock) : std::nullopt;
}

std::optional<std::uint64_t> state_versions::older_clock() const {
  if (!older_) return {};
  return head_of(*older_).clock;
}

std::span<const std::byte> state_versions::older() const {
  TIDEGATE_ASSERT(older_.has_value(), "an older version was found");
  return bytes_of(*older_);
}

state_image state_versions::image(std::uint64_t version) const {
  state_image image{.epoch = head(head_word::epoch),
                    .has_history = head(head_word::has_history) != 0,
                    .known_from = head(head_word::known_from),
                    .begun = head(head_word::begun)};
  if (const auto slot = find(version)) {
    const auto head = head_of(*slot);
    const auto bytes = bytes_of(*slot);
    image.versions.push_back({.number = head.number,
                              .clock = head.clock,
                              .checksum = head.checksum,
                              .bytes = {bytes.begin(), bytes.end()}});
  }
  return image;
}

runtime::status state_versions::restore(const state_image& image) {
  std::size_t longest = 0;
  for (const auto& version : image.versions) longest = std::max(longest, version.bytes.size());
  if (longest > version_bytes_ || image.versions.size() > slots)
    return {runtime::errc::over_limit,
            "a copy of a worker's state has versions of up to " + std::to_string(longest) +
                " bytes, and jobs.*.state.max allows " + std::to_string(version_bytes_)};
  if (auto reserved = reserve(longest); !reserved.ok()) return reserved;
  std::uint64_t slot = 0;
  for (const auto& version : image.versions) {
    store_slot(slot, slot_word::clock, version.clock);
    store_slot(slot, slot_word::length, version.bytes.size());
    memory_.write(offset_of(slot) + state_slot_head_bytes, version.bytes);
    store_slot(slot, slot_word::checksum, version.checksum);
    store_slot(slot, slot_word::number, version.number);
    ++slot;
  }
  set_head(head_word::has_history, image.has_history ? 1 : 0);
  set_head(head_word::known_from, image.known_from);
  set_head(head_word::begun, image.begun);
  set_head(head_word::epoch, image.epoch);
  return {};
}

runtime::status state_versions::reserve(std::size_t length) {
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    if (auto reserved = memory_.reserve(offset_of(slot), state_slot_head_bytes + length);
        !reserved.ok())
      return reserved;
  return {};
}

// A worker that is at `clock - 1` resumes there, one clock before or one after it, and never
// before where it has resumed. A version that the process before it has written may be needed
// although it is of a later clock: gradients of that process that shards hold may be applied
// any time.
std::uint64_t state_versions::slot_to_write(std::uint64_t clock) const {
  if (is_planted(planted_bug::state_written_over_what_is_needed)) return clock % 3;
  const auto before = clock > needed_before ? clock - needed_before : 0;
  const auto first = std::max(resumed_, before);
  std::optional<std::uint64_t> oldest;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto head = head_of(slot);
    if (head.number == 0) return slot;
    const bool is_of_need = head.clock >= first && head.clock <= clock + needed_after;
    if (is_of_need && !is_replaced(head)) continue;
    if (!oldest || head.number < head_of(*oldest).number) oldest = slot;
  }
  TIDEGATE_ASSERT(oldest.has_value(), "at most three versions are needed");
  return *oldest;
}

void state_versions::begin_write(std::uint64_t clock, std::size_t length) {
  TIDEGATE_ASSERT(length <= version_bytes_, "the length of a version is checked before");
  if (clock < head(head_word::begun)) set_head(head_word::begun, clock);
  slot_ = slot_to_write(clock);
  std::uint64_t number = 0;
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    number = std::max(number, head_of(slot).number);
  writing_ = {.number = number + 1,
              .clock = clock,
              .length = length,
              .checksum = runtime::mix64(clock ^ runtime::mix64(length))};
  written_ = 0;
  store_slot(slot_, slot_word::number,
             is_planted(planted_bug::state_counts_before_it_is_written) ? writing_.number : 0);
  store_slot(slot_, slot_word::clock, clock);
  store_slot(slot_, slot_word::length, length);
}

void state_versions::write(std::span<const std::byte> part) {
  TIDEGATE_ASSERT(part.size() % sizeof(std::uint64_t) == 0, "parts are of whole words");
  memory_.write(offset_of(slot_) + state_slot_head_bytes + written_, part);
  writing_.checksum = add_to_checksum(writing_.checksum, part);
  written_ += part.size();
}

void state_versions::end_write() {
  TIDEGATE_ASSERT(written_ == writing_.length, "a version is written whole");
  store_slot(slot_, slot_word::checksum, writing_.checksum);
  store_slot(slot_, slot_word::number, writing_.number);
}

}  // namespace tidegate::policies
