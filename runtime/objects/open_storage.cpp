#include "runtime/objects/open_storage.hpp"

#include <cstdlib>
#include <utility>

#include "runtime/base/object_place.hpp"
#include "runtime/objects/s3_storage.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::runtime {

namespace {

constexpr s3_limits brief_limits{
    .connect_ms = 1'500, .stalled_s = 3, .completing_s = 3, .retry_ms = 2'000};

expected<storage_pointer> open_objects(const std::string& path,
                                       const storage_options& options) {
  auto place = parse_object_place(path);
  if (!place) return fail(place.error());
  auto account = read_s3_account(
      options.variable ? options.variable : [](const char* name) { return std::getenv(name); });
  if (!account) return fail(account.error().code(), path + ": " + account.error().message());
  auto bucket =
      s3_bucket::open(std::move(*account), std::move(*place),
                      options.patience == object_patience::brief ? brief_limits : s3_limits());
  if (!bucket) return fail(bucket.error());
  return std::make_unique<s3_storage>(std::move(*bucket));
}

expected<storage_pointer> pointer_to(expected<posix_storage> folder) {
  if (!folder) return fail(folder.error());
  return std::make_unique<posix_storage>(std::move(*folder));
}

}  // namespace

expected<storage_pointer> open_storage(const std::string& path,
                                       const storage_options& options) {
  if (is_object_place(path)) return open_objects(path, options);
  return pointer_to(posix_storage::open(path, options.file_mode));
}

expected<storage_pointer> make_storage(const std::string& path,
                                       const storage_options& options) {
  if (is_object_place(path)) return open_objects(path, options);
  return pointer_to(posix_storage::make(path));
}

}  // namespace tidegate::runtime
