#include "launch/agents/staged_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tidegate::launch {

namespace fs = std::filesystem;
using runtime::errc;

namespace {

constexpr mode_t permissions = 0777;
constexpr std::uint32_t may_run = 0111;

runtime::status failure(const std::string& path, const char* doing) {
  const auto why = errno;
  return {why == ENOENT ? errc::not_found : errc::io_error,
          path + ": " + doing + ": " + std::strerror(why)};
}

// Returns its size, permissions and hash. Errors: not_found, io_error.
runtime::expected<staged_file> describe(const std::string& path) {
  const runtime::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return runtime::fail(failure(path, "cannot be opened"));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return runtime::fail(failure(path, "cannot be read"));
  if (!S_ISREG(found.st_mode))
    return runtime::fail(errc::io_error, path + ": is neither a file nor a folder");
  staged_file described{.path = path, .bytes = 0, .mode = found.st_mode & permissions};
  runtime::sha256 hash;
  std::vector<std::byte> bytes(std::size_t{256} << 10U);
  for (;;) {
    const auto got = ::read(file.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return runtime::fail(failure(path, "cannot be read"));
    if (got == 0) break;
    hash.update(std::span(bytes).first(static_cast<std::size_t>(got)));
    described.bytes += static_cast<std::uint64_t>(got);
  }
  described.sha256 = hash.finish();
  return described;
}

// Adds the files of a path: its own, or those below it.
runtime::status add_paths(const fs::path& path, std::set<std::string>& into) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    return {errc::not_found, path.string() + ": there is no such file or folder"};
  if (!fs::is_directory(status)) {
    into.insert(path.string());
    return {};
  }
  fs::recursive_directory_iterator entries(path, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error))
    if (entries->is_regular_file(error)) into.insert(entries->path().string());
  if (error) return {errc::io_error, path.string() + ": " + error.message()};
  return {};
}

}  // namespace

runtime::expected<std::vector<staged_file>> list_staged(const policies::cluster_spec& spec) {
  std::set<std::string> paths;
  for (const auto& job : spec.jobs)
    for (const auto& named : job.stage) {
      std::error_code error;
      const auto path = fs::absolute(named, error).lexically_normal();
      if (auto added = add_paths(path, paths); !added.ok())
        return runtime::fail(added.code(), "jobs." + job.name + ".stage: " + added.message());
    }
  std::vector<staged_file> all;
  for (const auto& path : paths) {
    auto file = describe(path);
    if (!file) return runtime::fail(file.error().code(), "stage: " + file.error().message());
    all.push_back(std::move(*file));
  }
  return all;
}

bool is_here(const staged_file& file) {
  struct stat found {};
  if (::stat(file.path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::uint64_t>(found.st_size) != file.bytes)
    return false;
  if ((file.mode & may_run) != 0 && ::access(file.path.c_str(), X_OK) != 0) return false;
  const auto here = describe(file.path);
  return here && here->sha256 == file.sha256;
}

arriving_file::arriving_file(const staged_file& file, std::string part, runtime::unique_fd fd)
    : file_(&file), part_(std::move(part)), fd_(std::move(fd)) {}

arriving_file::arriving_file(arriving_file&& other) noexcept
    : file_(other.file_),
      part_(std::exchange(other.part_, {})),
      fd_(std::move(other.fd_)),
      hash_(std::move(other.hash_)),
      written_(other.written_) {}

arriving_file::~arriving_file() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

runtime::status arriving_file::cannot(const char* doing) const {
  return failure(file_->path, doing);
}

// Agents of several hosts may do this in a folder that they share.
runtime::expected<arriving_file> arriving_file::begin(const staged_file& file) {
  std::error_code error;
  fs::create_directories(fs::path(file.path).parent_path(), error);
  auto part = file.path + ".tidegate-XXXXXX";
  runtime::unique_fd fd(::mkostemp(part.data(), O_CLOEXEC));
  if (!fd) return runtime::fail(failure(file.path, "cannot be written"));
  return arriving_file(file, std::move(part), std::move(fd));
}

runtime::status arriving_file::write(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes())
    return {errc::corrupt, file_->path + ": more bytes arrive than it has"};
  hash_.update(bytes);
  written_ += bytes.size();
  while (!bytes.empty()) {
    const auto done = ::write(fd_.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return cannot("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

runtime::status arriving_file::finish() {
  if (written_ != file_->bytes || hash_.finish() != file_->sha256)
    return {errc::corrupt,
            file_->path +
                ": what arrives is not what was listed as the launcher began; it has "
                "changed there since"};
  if (::fchmod(fd_.get(), file_->mode) != 0) return cannot("its permissions cannot be set");
  fd_.reset();  // a program that is open to be written cannot be run
  if (::rename(part_.c_str(), file_->path.c_str()) != 0) return cannot("cannot be replaced");
  part_.clear();
  return {};
}

}  // namespace tidegate::launch
