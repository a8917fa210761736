#include "runtime/batches/id_code.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

using word = std::uint64_t;
constexpr unsigned word_bits = 64;

static_assert(std::endian::native == std::endian::little, "codes are read where they lie");

bool is_aligned_as_code(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) % alignof(word) == 0;
}

constexpr std::uint64_t words_of(std::uint64_t numbers, unsigned width) noexcept {
  return (numbers * width + word_bits - 1) / word_bits;
}

// Returns the end of what it has written.
word* pack(std::span<const word> numbers, unsigned width, word* out) noexcept {
  if (width == 0) return out;
  word open = 0;
  unsigned filled = 0;
  for (const auto number : numbers) {
    open |= number << filled;
    filled += width;
    if (filled < word_bits) continue;
    *out++ = open;
    filled -= word_bits;
    open = filled == 0 ? 0 : number >> (width - filled);
  }
  if (filled > 0) *out++ = open;
  return out;
}

// Returns false if some id is not above the one before it. Reads a word behind the block.
bool unpack(const word* block, unsigned width, word before, std::span<word> ids) noexcept {
  const word mask = ~word{0} >> (word_bits - width);
  bool descends = false;
  std::size_t at = 0;  // in bits
  for (auto& id : ids) {
    const auto* const from = block + at / word_bits;
    const auto shift = static_cast<unsigned>(at % word_bits);
    const auto bits = from[0] >> shift | from[1] << 1 << (word_bits - 1 - shift);
    id = before + (bits & mask) + 1;
    descends |= id <= before;  // as it does where it wraps
    before = id;
    at += width;
  }
  return !descends;
}

// Of ids that follow one another.
bool count_up(word before, std::span<word> ids) noexcept {
  for (auto& id : ids) id = ++before;
  return ids.back() >= ids.size();
}

auto bad_code(std::size_t ids, const char* problem) {
  return status{errc::corrupt, "a code of " + std::to_string(ids) + " ids " + problem};
}

}  // namespace

std::size_t encode_ids(std::span<const std::uint64_t> ids, std::span<std::byte> into) {
  TIDEGATE_ASSERT(
      into.size() >= id_code_bytes_max(ids.size()) && is_aligned_as_code(into.data()),
      "memory for the code of these ids");
  if (ids.empty()) return 0;
  auto* const begin = reinterpret_cast<word*>(into.data());
  *begin = ids.front();
  auto* const widths = into.data() + sizeof(word);
  std::memset(widths, 0, id_width_words(ids.size()) * sizeof(word));
  auto* out = begin + 1 + id_width_words(ids.size());
  std::array<word, id_block> above;
  for (std::size_t block = 0; block < id_blocks(ids.size()); ++block) {
    const auto first = 1 + block * id_block;
    const auto count = std::min<std::size_t>(id_block, ids.size() - first);
    word any = 0;
    for (std::size_t i = 0; i < count; ++i) {
      above[i] = ids[first + i] - ids[first + i - 1] - 1;
      any |= above[i];
    }
    const auto width = static_cast<unsigned>(std::bit_width(any));
    widths[block] = static_cast<std::byte>(width);
    out = pack(std::span(above).first(count), width, out);
  }
  *out++ = 0;
  return static_cast<std::size_t>(out - begin) * sizeof(word);
}

status decode_ids(std::span<const std::byte> code, std::span<std::uint64_t> ids) {
  TIDEGATE_ASSERT(is_aligned_as_code(code.data()), "words of a code");
  if (ids.empty()) return code.empty() ? status() : bad_code(ids.size(), "has words");
  const auto head = 1 + id_width_words(ids.size());
  if (code.size() < id_code_bytes_min(ids.size()))
    return bad_code(ids.size(), "ends before them");
  const auto widths = code.subspan(sizeof(word), id_blocks(ids.size()));
  const auto count_of = [&](std::size_t block) {
    return std::min<std::size_t>(id_block, ids.size() - 1 - block * id_block);
  };
  std::uint64_t words = head + 1;
  for (std::size_t block = 0; block < widths.size(); ++block) {
    const auto width = std::to_integer<unsigned>(widths[block]);
    if (width > word_bits) return bad_code(ids.size(), "has blocks wider than a word");
    words += words_of(count_of(block), width);
  }
  if (code.size() != words * sizeof(word)) return bad_code(ids.size(), "is of another size");
  const auto* const begin = reinterpret_cast<const word*>(code.data());
  const auto* in = begin + head;
  ids.front() = *begin;
  bool ascends = true;
  for (std::size_t block = 0; block < widths.size(); ++block) {
    const auto width = std::to_integer<unsigned>(widths[block]);
    const auto first = 1 + block * id_block;
    const auto some = ids.subspan(first, count_of(block));
    const auto before = ids[first - 1];
    ascends &= width == 0 ? count_up(before, some) : unpack(in, width, before, some);
    in += words_of(some.size(), width);
  }
  return ascends ? status() : bad_code(ids.size(), "has ids that do not ascend");
}

}  // namespace tidegate::runtime
