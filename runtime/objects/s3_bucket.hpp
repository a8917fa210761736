// The objects below one place of a bucket: put, get, list, remove, uploads in parts. Requests
// that mean the same twice are tried again for a while where the store cannot be reached or is
// busy; others only where it has not taken them. One thread; blocks.
//
// Errors of every call: unavailable (no connection, the store is busy or failed), refused (the
// store says no: no such bucket, no permission, a wrong key, a clock that is wrong), no_space.
// Messages name the object, the HTTP status, the store's code, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/objects/s3_answers.hpp"
#include "runtime/objects/s3_connection.hpp"

namespace tidegate::runtime {

struct s3_limits {
  std::uint32_t connect_ms = 3'000;
  std::uint32_t stalled_s = 10;     // no byte has moved for so long
  std::uint32_t completing_s = 60;  // likewise, while a store puts parts together
  std::uint32_t retry_ms = 10'000;  // no other attempt begins later
};

class s3_bucket {
 public:
  // Asks nothing yet. Errors: those of s3_connection::open().
  static expected<s3_bucket> open(s3_account account, object_place place,
                                  const s3_limits& limits = {});

  const object_place& place() const noexcept { return connection_.place(); }

  status put(const std::string& name, std::span<const std::byte> bytes);
  // Only if nothing has this name. It is not tried again once the store may have it.
  // Errors: already_exists.
  status put_new(const std::string& name, std::span<const std::byte> bytes);
  // Returns how many bytes from here on there were; fewer than `into` takes at the end of the
  // object. Errors: not_found; corrupt (the object ends before).
  expected<std::size_t> get(const std::string& name, std::uint64_t offset,
                            std::span<std::byte> into);
  // Errors: not_found.
  expected<std::uint64_t> size(const std::string& name);
  // Says nothing of an object that is not there.
  status remove(const std::string& name);
  // Names directly below the place, ascending; those that are no names of files are left out.
  expected<std::vector<std::string>> list();

  // An upload in parts: nobody sees the object until it is completed.
  expected<std::string> begin_upload(const std::string& name);
  // Returns the part's tag. Parts are numbered from 1.
  expected<std::string> put_part(const std::string& name, const std::string& upload,
                                 std::size_t number, std::span<const std::byte> bytes);
  status complete(const std::string& name, const std::string& upload,
                  const std::vector<std::string>& tags);
  // Tried once.
  status abort(const std::string& name, const std::string& upload);
  // Those that have begun and not ended, as {name, upload}, by name.
  expected<std::vector<s3_upload>> uploads();

 private:
  struct action {
    const char* doing;       // "cannot be written"
    const char* permission;  // "s3:PutObject"
    bool may_repeat = true;
    bool tries_again = true;
  };

  s3_bucket(s3_connection connection, const s3_limits& limits)
      : connection_(std::move(connection)), limits_(limits) {}
  // The answer, whatever it is, when there is no use in another attempt.
  s3_answer ask(s3_request request, const action& task);
  status failed(const s3_answer& answer, const std::string& name, const action& task) const;
  std::string name_of(const std::string& key) const;  // empty: not directly below the place

  s3_connection connection_;
  s3_limits limits_;
};

}  // namespace tidegate::runtime
