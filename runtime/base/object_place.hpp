// Where a store of objects, which speaks the protocol of S3, keeps what a folder would:
// "s3://bucket/prefix". Pure, any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct object_place {
  std::string bucket;
  std::string prefix;  // without '/' at its ends; empty: the whole bucket

  std::string key_of(std::string_view name) const;
  std::string url_of(std::string_view name) const;  // "s3://bucket/prefix/name"
};

// Returns true for what begins as such a place, whether it is right or not.
constexpr bool is_object_place(std::string_view path) noexcept {
  return path.starts_with("s3://");
}
// Errors: invalid_argument (the message says what is allowed).
expected<object_place> parse_object_place(std::string_view text);

inline constexpr std::string_view allowed_object_place =
    "s3://BUCKET/PREFIX: a bucket of 3 to 63 of a-z 0-9 . -, and names of at most 512 bytes of "
    "A-Z a-z 0-9 . _ - = between single /";

// The variables that say which store it is, and those of them that are secrets.
inline constexpr std::array object_variables = {
    "AWS_ENDPOINT_URL_S3",   "AWS_ENDPOINT_URL", "AWS_REGION",
    "AWS_DEFAULT_REGION",    "AWS_CA_BUNDLE",    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};
inline constexpr std::array object_secrets = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                              "AWS_SESSION_TOKEN"};

}  // namespace tidegate::runtime
