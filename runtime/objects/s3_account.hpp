// Which store of objects is used, and as whom: what the variables of the environment say that
// other programs of S3 know, too. A value; pure, any thread. The secrets in it are for signing
// alone: no message has them.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/object_place.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct s3_account {
  // "https://host:9000", without a '/' at its end; empty: that of AWS in the region.
  std::string endpoint;
  std::string region = "us-east-1";
  std::string certificates;  // a file of those to trust; empty: the system's
  std::string key_id;
  std::string secret;
  std::string session_token;  // empty: none

  // Returns where the bucket is: AWS has a host for each; any other store, and a bucket whose
  // name no certificate covers, is asked by its path.
  std::string base_url(const object_place& place) const;
};

// Returns the value of a variable; null: it is not set.
using variable_reader = std::function<const char*(const char* name)>;

// Errors: invalid_argument (keys are missing, or the endpoint is wrong; the message
// says what to do).
expected<s3_account> read_s3_account(const variable_reader& variable);

}  // namespace tidegate::runtime
