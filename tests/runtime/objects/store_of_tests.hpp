// A store of objects in the memory of a test: speaks as much of S3 over HTTP as is used, and
// works out each signature for itself. Answers may be planned instead. Serves until it is
// destroyed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/unique_fd.hpp"
#include "runtime/objects/s3_account.hpp"

namespace tidegate::runtime::tests {

inline std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class store_of_tests {
 public:
  struct request {
    std::string method;
    std::string path;                            // as sent
    std::string query;                           // likewise
    std::map<std::string, std::string> headers;  // by their names in small letters
    std::string body;
    bool is_signed = false;  // as AWS says, with the secret of account()
  };
  struct answer {
    int status = 200;
    std::string text = {};
    std::string headers = {};  // lines, each with its end
    bool breaks_off = false;   // the connection ends before any byte of it
  };
  // Returns an answer in place of the store's own; nothing: it is the store's turn.
  using plan = std::function<std::optional<answer>(const request& asked)>;

  explicit store_of_tests(plan planned = {});
  ~store_of_tests();
  store_of_tests(const store_of_tests&) = delete;
  store_of_tests& operator=(const store_of_tests&) = delete;

  s3_account account() const;
  std::vector<request> requests() const;
  std::map<std::string, std::string> objects() const;  // by path, "bucket/key"
  std::size_t uploads() const;

 private:
  void serve();
  void serve_connection(int fd);
  answer answer_to(const request& asked);
  answer list(const request& asked) const;
  answer put(const request& asked);
  answer get(const request& asked) const;
  answer post(const request& asked);

  plan planned_;
  unique_fd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<request> requests_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::map<int, std::string>> uploads_;  // parts, by path and id
  std::thread thread_;
};

}  // namespace tidegate::runtime::tests
