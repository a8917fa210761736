// A storage (runtime/base/storage.hpp) below a place of a store of objects. A store has neither
// files that grow nor renames, so:
//
// A file NAME.tmp is an object NAME in the making: its bytes are kept here, or once there are
// many in parts of an upload, which list() shows as NAME.tmp. rename() to NAME puts it there as
// a whole; until then a crash loses it, sync() or not. Any other file that is created is put as
// it is closed, if nothing has its name then: that is where already_exists comes from.
//
// What a call has put is durable when it returns, names too, and seen by all who ask later: S3
// says so of itself. remove() says nothing of a file that is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/storage.hpp"
#include "runtime/objects/s3_bucket.hpp"

namespace tidegate::runtime {

class s3_storage final : public storage {
 public:
  // All parts of an upload but the last are of this size: some stores want that. They take
  // 10,000 of them.
  static constexpr std::size_t part_bytes = std::size_t{32} << 20U;
  static constexpr std::size_t parts_max = 10'000;

  explicit s3_storage(s3_bucket bucket) : bucket_(std::move(bucket)) {}

  status create(const std::string& name) override;
  // Errors: over_limit (it has parts_max parts).
  status append(const std::string& name, std::span<const std::byte> bytes) override;
  status sync(const std::string& name) override;
  status close(const std::string& name) override;
  // Errors: invalid_argument (the store cannot do this one).
  status rename(const std::string& from, const std::string& to) override;
  status remove(const std::string& name) override;
  status sync_folder() override { return {}; }
  expected<std::vector<std::string>> list() override;
  expected<std::uint64_t> size(const std::string& name) override;
  bool vouches_for_bytes() const noexcept override { return true; }
  status read(const std::string& name, std::uint64_t offset,
              std::span<std::byte> into) override;

 private:
  struct open_file {
    std::vector<std::byte> kept;  // not in any part yet
    std::string upload;           // empty: none has begun
    std::vector<std::string> tags;
    bool is_closed = false;
  };
  // Bytes that were read before they were asked for.
  struct read_ahead {
    std::string name;
    std::uint64_t first = 0;
    std::vector<std::byte> bytes;
  };

  status check(const std::string& name) const;
  open_file& opened(const std::string& name);
  status put_part(const std::string& target, open_file& file);
  status publish(const std::string& target, open_file& file);
  bool take_ahead(const std::string& name, std::uint64_t& offset, std::span<std::byte>& into);

  s3_bucket bucket_;
  std::map<std::string, open_file> files_;
  read_ahead ahead_;
};

}  // namespace tidegate::runtime
