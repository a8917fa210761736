#include "actors/reactor/peer_address.hpp"

#include <charconv>
#include <cstdio>

#include "runtime/transport/host_link.hpp"

namespace tidegate::actors {

namespace {

// It has been killed by then, and is mostly dead before.
constexpr int gone_within_ms = 2000;

template <class Number>
Number hex(std::string_view digits) {
  Number value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

}  // namespace

std::string peer_address(std::uint64_t host, std::string_view link) {
  const auto me = runtime::own_mark();
  char digits[place_digits + 1];
  std::snprintf(digits, sizeof digits, "%016llx%08x%016llx",
                static_cast<unsigned long long>(host), static_cast<unsigned>(me.pid),
                static_cast<unsigned long long>(me.started));
  return std::string(digits) + std::string(link);
}

runtime::process_mark process_of(std::string_view address) {
  if (address.size() < place_digits) return {};
  return {hex<std::int32_t>(address.substr(host_digits, 8)),
          hex<std::uint64_t>(address.substr(host_digits + 8, 16))};
}

runtime::status fence(std::string_view mine, std::string_view replaced) {
  if (!share_memory(mine, replaced)) return {};
  // One that has left in order, and whose process has others to serve.
  if (runtime::is_closed(link_of(replaced))) return {};
  return runtime::end_process(process_of(replaced), gone_within_ms);
}

}  // namespace tidegate::actors
