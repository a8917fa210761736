// What a worker asks of a shard's function, and what comes of one chunk, as payloads of frames:
// a name and numbers; a way to combine, and numbers. Both have a fixed size, so that a place
// for them is known before they arrive, and are little endian.
//
// Pure functions, any thread. No allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t function_name_max = 63;  // bytes
inline constexpr std::size_t call_numbers_max = 32;   // arguments, and results of a chunk
inline constexpr std::size_t call_wire_bytes = call_payload_bytes;
static_assert(call_wire_bytes == 8 + 64 + call_numbers_max * sizeof(double));

using call_wire = std::array<std::byte, call_wire_bytes>;

// How the results of chunks become one: element by element, in the order of chunks.
enum class combine_kind : std::uint8_t { sum = 0, product = 1, minimum = 2, maximum = 3 };

struct function_call {
  std::string_view name;  // at most function_name_max bytes
  std::span<const double> arguments;
};

// What is not errc::ok has no numbers: not_found (no such function), invalid_argument (another
// number of arguments, or values that it refuses).
struct function_results {
  errc outcome = errc::ok;
  combine_kind combine = combine_kind::sum;
  std::uint32_t count = 0;
  std::array<double, call_numbers_max> numbers{};

  std::span<const double> values() const noexcept { return std::span(numbers).first(count); }
};

void encode(const function_call& call, call_wire& into);
void encode(const function_results& results, call_wire& into);

// A call as it arrived; its name and arguments are its own.
struct received_call {
  std::array<char, function_name_max> name{};
  std::uint32_t name_bytes = 0;
  std::uint32_t count = 0;
  std::array<double, call_numbers_max> numbers{};

  function_call view() const noexcept {
    return {.name = {name.data(), name_bytes}, .arguments = std::span(numbers).first(count)};
  }
};

// Return nothing for bytes of another size, and for counts that do not fit.
std::optional<received_call> decode_call(std::span<const std::byte> bytes);
std::optional<function_results> decode_results(std::span<const std::byte> bytes);

// Takes the results of the next chunk into those of the chunks before it; of two outcomes the
// first that is not ok stays. Returns false, and changes nothing, if they are of another kind
// or number.
bool combine(function_results& all, const function_results& next) noexcept;

// Combines the results of all chunks, in their order. Returns false if some are no results, or
// do not go together.
bool combine_all(std::span<const call_wire> chunks, function_results& all);

}  // namespace tidegate::runtime
