#include "launch/config/read_otlp.hpp"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "launch/text/endpoint.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view usual_path = "/v1/metrics";
constexpr std::uint64_t every_ms_least = 1'000;
constexpr std::uint64_t every_ms_most = 3'600'000;
constexpr std::uint64_t timeout_ms_least = 100;
constexpr std::uint64_t timeout_ms_most = 60'000;

// What follows "http://" or "https://"; empty: it is another text.
std::string_view behind_scheme(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (url.starts_with(scheme)) return url.substr(scheme.size());
  return {};
}

// Who writes a name and a password into an address has them in every log.
bool is_url(std::string_view url) {
  const auto rest = behind_scheme(url);
  const auto place = rest.substr(0, rest.find('/'));
  const bool is_plain = std::all_of(url.begin(), url.end(), [](unsigned char c) {
    return c > 0x20 && c < 0x7f && c != '#' && c != '\\';
  });
  const bool is_bare_v6 =
      !place.starts_with('[') && std::count(place.begin(), place.end(), ':') > 1;
  return is_plain && !is_bare_v6 && place.find_first_of("@?") == std::string_view::npos &&
         parse_endpoint(std::string(place), 80).has_value();
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::optional<otlp_spec> read_otlp(const section& from) {
  if (from.node() == nullptr || !from.node()->is_map()) return std::nullopt;
  otlp_spec spec;
  std::uint64_t every_ms = spec.every_ms;
  std::uint64_t timeout_ms = spec.timeout_ms;
  if (from.require("url")) from.text("url", spec.url, is_url);
  from.duration_ms("every", every_ms, every_ms_least, every_ms_most);
  from.duration_ms("timeout", timeout_ms, timeout_ms_least, timeout_ms_most);
  from.text("headers_file", spec.headers_file, is_absolute);
  from.text("certificates", spec.certificates, is_absolute);
  if (behind_scheme(spec.url).find('/') == std::string_view::npos) spec.url += usual_path;
  spec.every_ms = static_cast<std::uint32_t>(every_ms);
  spec.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
  return spec;
}

std::string otlp_text(const otlp_spec& spec) {
  auto text = "otlp: {url: " + quoted(spec.url) +
              ", every: " + format_duration_ms(spec.every_ms) +
              ", timeout: " + format_duration_ms(spec.timeout_ms);
  if (!spec.headers_file.empty()) text += ", headers_file: " + quoted(spec.headers_file);
  if (!spec.certificates.empty()) text += ", certificates: " + quoted(spec.certificates);
  return text + "}\n";
}

}  // namespace tidegate::launch
