#include "runtime/objects/s3_account.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tidegate::runtime {

namespace {

// Whatever is in a header or an address must not end it.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && port > 0 &&
         port < 65536;
}

bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return false;
    const auto inside = text.substr(1, end - 1);
    const auto rest = text.substr(end + 1);
    return !inside.empty() &&
           inside.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
           (rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1))));
  }
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  return !name.empty() &&
         (colon == std::string_view::npos || is_port(text.substr(colon + 1))) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

bool is_endpoint(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (text.starts_with(scheme)) return is_host(text.substr(scheme.size()));
  return false;
}

bool is_region(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

struct first_of {
  std::string name;
  std::string value;
};

first_of find_variable(const variable_reader& variable,
                       std::initializer_list<const char*> names) {
  for (const auto* name : names)
    if (const auto* value = variable(name); value != nullptr && *value != '\0')
      return {name, value};
  return {};
}

}  // namespace

std::string s3_account::base_url(const object_place& place) const {
  if (!endpoint.empty()) return endpoint + "/" + place.bucket;
  const auto aws = "s3." + region + ".amazonaws.com";
  const bool is_dotted = place.bucket.find('.') != std::string::npos;
  return is_dotted ? "https://" + aws + "/" + place.bucket
                   : "https://" + place.bucket + "." + aws;
}

expected<s3_account> read_s3_account(const variable_reader& variable) {
  s3_account account;
  auto endpoint = find_variable(variable, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  while (endpoint.value.ends_with('/')) endpoint.value.pop_back();
  if (!endpoint.name.empty() && !is_endpoint(endpoint.value))
    return fail(errc::invalid_argument,
                endpoint.name + ": '" + endpoint.value +
                    "' is no address of a store; allowed: https://HOST:PORT or "
                    "http://HOST:PORT, without a path");
  account.endpoint = std::move(endpoint.value);
  const auto region = find_variable(variable, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region.name.empty() && !is_region(region.value))
    return fail(errc::invalid_argument, region.name + ": '" + region.value +
                                            "' is no region; allowed: a-z 0-9 -, as us-east-1");
  if (!region.name.empty()) account.region = region.value;
  account.certificates = find_variable(variable, {"AWS_CA_BUNDLE"}).value;
  account.key_id = find_variable(variable, {"AWS_ACCESS_KEY_ID"}).value;
  account.secret = find_variable(variable, {"AWS_SECRET_ACCESS_KEY"}).value;
  account.session_token = find_variable(variable, {"AWS_SESSION_TOKEN"}).value;
  if (account.key_id.empty() || account.secret.empty())
    return fail(
        errc::invalid_argument,
        std::string(account.key_id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY") +
            " is not set: the launcher needs AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY in its environment, and with temporary keys "
            "AWS_SESSION_TOKEN");
  // The signer takes them in one text, with colons between.
  const bool is_plain = is_printable(account.key_id) && is_printable(account.secret) &&
                        is_printable(account.session_token) &&
                        account.key_id.find(':') == std::string::npos;
  if (!is_plain)
    return fail(errc::invalid_argument,
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN has a space, a "
                "control character or a colon: set it again");
  return account;
}

}  // namespace tidegate::runtime
