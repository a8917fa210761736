#include "runtime/functions/call_wire.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

// Bytes 0 to 2: size of the name, or the way to combine; count of numbers; outcome. From 8 on
// the name, from 72 on the numbers. What is not used is zero.
constexpr std::size_t name_at = 8;
constexpr std::size_t numbers_at = name_at + 64;

void put(call_wire& into, std::uint8_t head, std::span<const double> numbers) {
  TIDEGATE_ASSERT(numbers.size() <= call_numbers_max, "numbers fit");
  into.fill(std::byte{0});
  into[0] = static_cast<std::byte>(head);
  into[1] = static_cast<std::byte>(numbers.size());
  if (!numbers.empty())
    std::memcpy(into.data() + numbers_at, numbers.data(), numbers.size_bytes());
}

bool is_shaped(std::span<const std::byte> bytes, std::size_t head_max) {
  return bytes.size() == call_wire_bytes &&
         std::to_integer<std::size_t>(bytes[0]) <= head_max &&
         std::to_integer<std::size_t>(bytes[1]) <= call_numbers_max;
}

double combined(combine_kind kind, double a, double b) {
  switch (kind) {
    case combine_kind::sum:
      return a + b;
    case combine_kind::product:
      return a * b;
    case combine_kind::minimum:
      return b < a ? b : a;
    case combine_kind::maximum:
      return b > a ? b : a;
  }
  return a;
}

}  // namespace

void encode(const function_call& call, call_wire& into) {
  TIDEGATE_ASSERT(call.name.size() <= function_name_max, "a name fits");
  put(into, static_cast<std::uint8_t>(call.name.size()), call.arguments);
  std::copy(call.name.begin(), call.name.end(), reinterpret_cast<char*>(into.data() + name_at));
}

void encode(const function_results& results, call_wire& into) {
  put(into, static_cast<std::uint8_t>(results.combine), results.values());
  into[2] = static_cast<std::byte>(results.outcome);
}

std::optional<received_call> decode_call(std::span<const std::byte> bytes) {
  if (!is_shaped(bytes, function_name_max)) return std::nullopt;
  received_call call;
  call.name_bytes = std::to_integer<std::uint32_t>(bytes[0]);
  call.count = std::to_integer<std::uint32_t>(bytes[1]);
  std::memcpy(call.name.data(), bytes.data() + name_at, call.name_bytes);
  std::memcpy(call.numbers.data(), bytes.data() + numbers_at, call.count * sizeof(double));
  return call;
}

std::optional<function_results> decode_results(std::span<const std::byte> bytes) {
  if (!is_shaped(bytes, static_cast<std::size_t>(combine_kind::maximum))) return std::nullopt;
  function_results results;
  results.outcome = static_cast<errc>(bytes[2]);
  results.combine = static_cast<combine_kind>(bytes[0]);
  results.count = std::to_integer<std::uint32_t>(bytes[1]);
  std::memcpy(results.numbers.data(), bytes.data() + numbers_at,
              results.count * sizeof(double));
  return results;
}

// A NaN stays where there is one, as in sums.
bool combine(function_results& all, const function_results& next) noexcept {
  if (all.outcome != errc::ok) return true;
  if (next.outcome != errc::ok) {
    all = next;
    return true;
  }
  if (all.combine != next.combine || all.count != next.count) return false;
  for (std::size_t i = 0; i < all.count; ++i) {
    const auto a = all.numbers[i], b = next.numbers[i];
    all.numbers[i] = a != a ? a : b != b ? b : combined(all.combine, a, b);
  }
  return true;
}

bool combine_all(std::span<const call_wire> chunks, function_results& all) {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto next = decode_results(chunks[i]);
    if (!next) return false;
    if (i == 0)
      all = *next;
    else if (!combine(all, *next))
      return false;
  }
  return true;
}

}  // namespace tidegate::runtime
