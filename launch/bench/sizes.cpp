#include "launch/bench/sizes.hpp"

#include "launch/text/scalars.hpp"

namespace tidegate::bench {

namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;

tl::unexpected<runtime::status> no_size(std::string subject) {
  return runtime::fail(runtime::errc::invalid_argument, std::move(subject));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

runtime::expected<std::uint64_t> parse_size(std::string_view text) {
  auto bytes = launch::parse_bytes(text);
  if (!bytes && text.ends_with("GiB")) {
    bytes = launch::parse_unsigned(text.substr(0, text.size() - 3));
    if (bytes) bytes = *bytes > size_bytes_max / gibibyte ? ~0ULL : *bytes * gibibyte;
  }
  if (!bytes || *bytes % sizeof(float) != 0 || *bytes == 0 || *bytes > size_bytes_max)
    return no_size(
        "'" + std::string(text) +
        "' is no size; allowed: 4 to 64GiB, a multiple of 4, as in 4096, 64KiB, 4MiB, "
        "1GiB");
  return *bytes;
}

runtime::expected<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (const auto part : split(text)) {
    const auto size = parse_size(part);
    if (!size) return runtime::fail(size.error());
    sizes.push_back(*size);
  }
  return sizes;
}

runtime::expected<std::vector<std::uint32_t>> parse_numbers(std::string_view text,
                                                            std::uint32_t most) {
  std::vector<std::uint32_t> numbers;
  for (const auto part : split(text)) {
    const auto number = launch::parse_unsigned(part);
    if (!number || *number > most)
      return no_size("'" + std::string(part) + "' is no number; allowed: 0 to " +
                     std::to_string(most) + ", separated by commas");
    numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  return numbers;
}

std::string format_size(std::uint64_t bytes) {
  if (bytes != 0 && bytes % gibibyte == 0) return std::to_string(bytes / gibibyte) + "GiB";
  return launch::format_bytes(bytes);
}

}  // namespace tidegate::bench
