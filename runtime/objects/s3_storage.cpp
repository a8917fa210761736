#include "runtime/objects/s3_storage.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t ahead_bytes = std::size_t{8} << 20U;

bool is_temporary(const std::string& name) {
  return name.size() > temporary_suffix.size() && name.ends_with(temporary_suffix);
}

// The object that a temporary file becomes.
std::string target_of(const std::string& name) {
  return is_temporary(name) ? name.substr(0, name.size() - temporary_suffix.size()) : name;
}

}  // namespace

status s3_storage::check(const std::string& name) const {
  if (is_file_name(name)) return {};
  return {errc::invalid_argument, bucket_.place().url_of("") + ": '" + name + "' is no name " +
                                      "of a file here; allowed: 1 to 200 of A-Z a-z 0-9 . _ " +
                                      "-, the first no dot"};
}

s3_storage::open_file& s3_storage::opened(const std::string& name) {
  const auto found = files_.find(name);
  TIDEGATE_ASSERT(found != files_.end() && !found->second.is_closed,
                  "the file has been created here and not closed");
  return found->second;
}

status s3_storage::create(const std::string& name) {
  if (auto right = check(name); !right) return right;
  if (!files_.try_emplace(name).second)
    return {errc::already_exists, bucket_.place().url_of(name) + ": is being written"};
  return {};
}

status s3_storage::append(const std::string& name, std::span<const std::byte> bytes) {
  auto& file = opened(name);
  while (!bytes.empty()) {
    if (file.kept.size() == part_bytes)
      if (auto put = put_part(target_of(name), file); !put) return put;
    const auto piece = bytes.first(std::min(bytes.size(), part_bytes - file.kept.size()));
    file.kept.insert(file.kept.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

status s3_storage::put_part(const std::string& target, open_file& file) {
  if (file.tags.size() == parts_max)
    return {errc::over_limit, bucket_.place().url_of(target) + ": is larger than " +
                                  std::to_string(parts_max) + " parts of " +
                                  std::to_string(part_bytes >> 20U) +
                                  " MiB, which is as much as a store takes: use more shards"};
  if (file.upload.empty()) {
    auto upload = bucket_.begin_upload(target);
    if (!upload) return upload.error();
    file.upload = std::move(*upload);
  }
  auto tag = bucket_.put_part(target, file.upload, file.tags.size() + 1, file.kept);
  if (!tag) return tag.error();
  file.tags.push_back(std::move(*tag));
  file.kept.clear();
  return {};
}

// It is durable when it has its name.
status s3_storage::sync(const std::string& name) {
  (void)opened(name);
  return {};
}

status s3_storage::close(const std::string& name) {
  auto& file = opened(name);
  file.is_closed = true;
  if (is_temporary(name)) return {};
  auto put = file.upload.empty()
                 ? bucket_.put_new(name, file.kept)
                 : status(errc::over_limit,
                          bucket_.place().url_of(name) + ": is too large to be put as a whole");
  files_.erase(name);
  return put;
}

status s3_storage::rename(const std::string& from, const std::string& to) {
  for (const auto* name : {&from, &to})
    if (auto right = check(*name); !right) return right;
  const auto found = files_.find(from);
  TIDEGATE_ASSERT(found == files_.end() || found->second.is_closed,
                  "a file is closed before it is renamed");
  if (found == files_.end() || !is_temporary(from) || to != target_of(from))
    return {errc::invalid_argument, bucket_.place().url_of(from) + ": cannot be renamed to " +
                                        to + ": in a store only NAME.tmp, written here, " +
                                        "becomes NAME"};
  auto put = publish(to, found->second);
  if (put.ok()) files_.erase(found);
  if (ahead_.name == to) ahead_ = {};
  return put;
}

status s3_storage::publish(const std::string& target, open_file& file) {
  if (file.upload.empty()) return bucket_.put(target, file.kept);
  if (!file.kept.empty())
    if (auto put = put_part(target, file); !put) return put;
  return bucket_.complete(target, file.upload, file.tags);
}

status s3_storage::remove(const std::string& name) {
  if (auto right = check(name); !right) return right;
  if (ahead_.name == name) ahead_ = {};
  if (const auto found = files_.find(name); found != files_.end()) {
    const auto upload = found->second.upload;
    files_.erase(found);
    return upload.empty() ? status() : bucket_.abort(target_of(name), upload);
  }
  if (!is_temporary(name)) return bucket_.remove(name);
  const auto uploads = bucket_.uploads();
  if (!uploads) return uploads.error();
  for (const auto& upload : *uploads)
    if (upload.key == target_of(name))
      if (auto aborted = bucket_.abort(upload.key, upload.id); !aborted) return aborted;
  return {};
}

expected<std::vector<std::string>> s3_storage::list() {
  auto names = bucket_.list();
  if (!names) return names;
  const auto uploads = bucket_.uploads();
  if (!uploads) return fail(uploads.error());
  for (const auto& upload : *uploads)
    if (auto name = upload.key + std::string(temporary_suffix); is_file_name(name))
      names->push_back(std::move(name));
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
  return names;
}

// Whoever reads a file asks for its size first: what is there may be another one by now.
expected<std::uint64_t> s3_storage::size(const std::string& name) {
  if (auto right = check(name); !right) return fail(std::move(right));
  if (ahead_.name == name) ahead_ = {};
  return bucket_.size(name);
}

bool s3_storage::take_ahead(const std::string& name, std::uint64_t& offset,
                            std::span<std::byte>& into) {
  if (ahead_.name != name || offset < ahead_.first ||
      offset >= ahead_.first + ahead_.bytes.size())
    return false;
  const auto skipped = static_cast<std::size_t>(offset - ahead_.first);
  const auto count = std::min(into.size(), ahead_.bytes.size() - skipped);
  std::memcpy(into.data(), ahead_.bytes.data() + skipped, count);
  offset += count;
  into = into.subspan(count);
  return true;
}

// Readers go through a file from its beginning on, in pieces that may be small; each request
// takes as long as some MiB do.
status s3_storage::read(const std::string& name, std::uint64_t offset,
                        std::span<std::byte> into) {
  if (auto right = check(name); !right) return right;
  while (!into.empty()) {
    if (take_ahead(name, offset, into)) continue;
    const bool is_large = into.size() >= ahead_bytes;
    if (!is_large) {
      ahead_ = {.name = name, .first = offset, .bytes = std::vector<std::byte>(ahead_bytes)};
    }
    const auto room = is_large ? into : std::span(ahead_.bytes);
    const auto got = bucket_.get(name, offset, room);
    if (!is_large) ahead_.bytes.resize(got ? *got : 0);
    if (!got) return got.error();
    if (is_large) {
      offset += *got;
      into = into.subspan(*got);
    }
    if (*got == 0)
      return {errc::corrupt, bucket_.place().url_of(name) + ": ends at byte " +
                                 std::to_string(offset) + ", " + std::to_string(into.size()) +
                                 " bytes too early"};
  }
  return {};
}

}  // namespace tidegate::runtime
