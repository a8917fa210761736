#include "launch/text/printable.hpp"

#include <cstddef>
#include <cstdint>

namespace tidegate::launch {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with a character
};

// RFC 3629: neither longer than needed, nor a surrogate, nor beyond U+10FFFF.
character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800U) || (bytes == 4 && code < 0x10000U);
  const bool is_surrogate = code >= 0xD800U && code < 0xE000U;
  return is_overlong || is_surrogate || code > 0x10FFFFU ? character() : character{code, bytes};
}

bool is_control(std::uint32_t code) {
  return code < 0x20U || (code >= 0x7FU && code < 0xA0U);
}

std::string clean(std::string_view text, bool keeps_controls) {
  std::string cleaned;
  while (!text.empty()) {
    const auto next = first_of(text);
    const auto bytes = next.bytes == 0 ? 1 : next.bytes;
    if (next.bytes == 0)
      cleaned += replacement;
    else if (!keeps_controls && is_control(next.code))
      cleaned += ' ';
    else
      cleaned += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return cleaned;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  return clean(text, true);
}
std::string printable(std::string_view text) {
  return clean(text, false);
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view rest = "...";
  auto shown = printable(text);
  if (shown.size() <= bytes_max) return shown;
  auto end = bytes_max - rest.size();
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0U) == 0x80U) --end;
  shown.resize(end);
  return shown + std::string(rest);
}

}  // namespace tidegate::launch
