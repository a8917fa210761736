#include "runtime/ucx/ucx_hearing.hpp"

#include <bit>
#include <cstring>

namespace tidegate::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");
static_assert(sizeof(hearing_message) == 24, "no padding goes over the wire");

// More than one, as the question that names the pair waits while UCX makes the pair.
constexpr std::uint32_t answers_of_the_deaf = 3;

}  // namespace

std::optional<hearing_message> decode_hearing(std::span<const std::byte> wire) {
  hearing_message message;
  if (wire.size() != sizeof message) return {};
  std::memcpy(&message, wire.data(), sizeof message);
  if (message.magic != hearing_magic || message.kind > hearing_kind::given_up) return {};
  return message;
}

std::optional<hearing::questions> hearing::ask() {
  if (asks_) return questions{.round = round_, .first = false};
  if (!used_) return {};
  used_ = false;
  asks_ = true;
  answers_ = 0;
  return questions{.round = ++round_, .first = true};
}

void hearing::named_answer(std::uint32_t round) {
  if (round == round_) asks_ = false;
}

bool hearing::answer(std::uint32_t round) {
  return asks_ && round == round_ && ++answers_ >= answers_of_the_deaf;
}

}  // namespace tidegate::runtime
