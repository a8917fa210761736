// What a store of S3 answers, as XML. Believes nothing: what is no answer is an error, and
// never a wrong result. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// A page of the keys that a bucket has.
struct s3_keys {
  std::vector<std::string> keys;
  std::string next;  // asks for the page after this; empty: it is the last
};
// Errors of all: corrupt.
expected<s3_keys> parse_s3_keys(std::string_view xml);

// A page of uploads that were begun and neither completed nor aborted.
struct s3_upload {
  std::string key;
  std::string id;

  friend bool operator==(const s3_upload&, const s3_upload&) = default;
};
struct s3_uploads {
  std::vector<s3_upload> uploads;
  s3_upload next;  // asks for the page after this; an empty key: it is the last
};
expected<s3_uploads> parse_s3_uploads(std::string_view xml);

// The id of an upload that has begun.
expected<std::string> parse_s3_upload_id(std::string_view xml);

// Why something was refused; both empty where a text does not say.
struct s3_refusal {
  std::string code;     // "NoSuchBucket"
  std::string message;  // for people, at most 200 bytes without control characters
};
s3_refusal parse_s3_refusal(std::string_view xml);

// Returns true if the text says that an upload is complete, and not just that it was asked for.
bool is_s3_completed(std::string_view xml);

// The text that completes an upload, of parts 1, 2, ... with these tags.
std::string s3_completion(const std::vector<std::string>& tags);

}  // namespace tidegate::runtime
