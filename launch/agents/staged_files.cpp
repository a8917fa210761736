#include "launch/agents/staged_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

namespace fs = std::filesystem;
using runtime::errc;

namespace {

constexpr mode_t permissions = 0777;
constexpr std::uint32_t may_run = 0111;
constexpr std::uint64_t goes_on_bytes = std::uint64_t{64} << 20U;
constexpr const char* part_mark = ".tidegate-part-";

runtime::status failure(const std::string& path, const char* doing) {
  const auto why = errno;
  return {why == ENOENT ? errc::not_found : errc::io_error,
          path + ": " + doing + ": " + std::strerror(why)};
}

// Opens a file, and nothing else, and says what it is. Errors: not_found, io_error.
runtime::expected<runtime::unique_fd> open_file(const std::string& path, struct stat& found) {
  runtime::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return runtime::fail(failure(path, "cannot be opened"));
  if (::fstat(file.get(), &found) != 0) return runtime::fail(failure(path, "cannot be read"));
  if (!S_ISREG(found.st_mode))
    return runtime::fail(errc::io_error, path + ": is neither a file nor a folder");
  return file;
}

// Returns its size, permissions and hash. Errors: not_found, io_error, cancelled.
runtime::expected<staged_file> describe(const std::string& path,
                                        const std::function<bool()>& goes_on) {
  struct stat found {};
  const auto file = open_file(path, found);
  if (!file) return runtime::fail(file.error());
  staged_file described{.path = path, .bytes = 0, .mode = found.st_mode & permissions};
  runtime::sha256 hash;
  std::vector<std::byte> bytes(std::size_t{256} << 10U);
  for (;;) {
    const auto got = ::read(file->get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return runtime::fail(failure(path, "cannot be read"));
    if (got == 0) break;
    hash.update(std::span(bytes).first(static_cast<std::size_t>(got)));
    described.bytes += static_cast<std::uint64_t>(got);
    if (described.bytes % goes_on_bytes == 0 && !goes_on())
      return runtime::fail(errc::cancelled, path + ": it is not read to its end");
  }
  described.sha256 = hash.finish();
  return described;
}

// The launcher rewrites its files there, and hosts have folders of their own.
bool is_run_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "cluster.yaml", error) &&
         fs::exists(folder / "events.jsonl", error);
}

// As JSON carries it.
bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

runtime::status add_file(const fs::path& path, std::set<std::string>& into) {
  if (!is_utf8(path.string()))
    return {errc::invalid_argument, path.string() + ": its name is no UTF-8"};
  if (path.filename().string().find(part_mark) == std::string::npos) into.insert(path.string());
  return {};
}

// Adds the files of a path: its own, or those below it. Links are followed; what is neither a
// file nor a folder in a folder is passed over.
runtime::status add_paths(const fs::path& path, std::set<std::string>& into) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    return {errc::not_found, path.string() + ": there is no such file or folder"};
  if (!fs::is_directory(status)) return add_file(path, into);
  fs::recursive_directory_iterator entries(
      path, fs::directory_options::follow_directory_symlink, error);
  while (!error && entries != fs::recursive_directory_iterator()) {
    const auto entry = entries->path();
    std::error_code why;
    const auto kind = fs::status(entry, why).type();
    if (kind == fs::file_type::none)
      return {errc::io_error, entry.string() + ": " + why.message()};
    if (kind == fs::file_type::directory && is_run_folder(entry))
      entries.disable_recursion_pending();
    if (kind == fs::file_type::regular)
      if (auto added = add_file(entry, into); !added.ok()) return added;
    entries.increment(error);
  }
  if (error) return {errc::io_error, path.string() + ": " + error.message()};
  return {};
}

}  // namespace

runtime::status check_staged_text(const std::set<std::string>& paths) {
  constexpr std::size_t beside_path = 160;  // a hash, a size, a mode, and their names
  std::size_t bytes = 0;
  for (const auto& path : paths) bytes += path.size() + beside_path;
  if (bytes <= staged_text_bytes_max) return {};
  return {errc::over_limit, "stage: there are " + std::to_string(paths.size()) +
                                " files, and to name them takes " +
                                std::to_string(bytes >> 20U) + " MiB, of which " +
                                std::to_string(staged_text_bytes_max >> 20U) +
                                " are allowed: stage an archive of them, or share the folder"};
}

runtime::expected<std::vector<staged_file>> list_staged(const policies::cluster_spec& spec) {
  std::set<std::string> paths;
  for (const auto& job : spec.jobs)
    for (const auto& named : job.stage) {
      std::error_code error;
      const auto path = fs::absolute(named, error).lexically_normal();
      if (auto added = add_paths(path, paths); !added.ok())
        return runtime::fail(added.code(), "jobs." + job.name + ".stage: " + added.message());
    }
  if (auto fits = check_staged_text(paths); !fits.ok()) return runtime::fail(std::move(fits));
  std::vector<staged_file> all;
  for (const auto& path : paths) {
    auto file = describe(path, [] { return true; });
    if (!file) return runtime::fail(file.error().code(), "stage: " + file.error().message());
    all.push_back(std::move(*file));
  }
  return all;
}

runtime::expected<runtime::unique_fd> open_staged(const staged_file& file) {
  struct stat found {};
  return open_file(file.path, found);
}

bool is_here(const staged_file& file, const std::function<bool()>& goes_on) {
  struct stat found {};
  if (::stat(file.path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::uint64_t>(found.st_size) != file.bytes)
    return false;
  if ((file.mode & may_run) != 0 && ::access(file.path.c_str(), X_OK) != 0) return false;
  const auto here = describe(file.path, goes_on);
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
  const auto folder = fs::path(file.path).parent_path();
  fs::create_directories(folder, error);
  if (error)
    return runtime::fail(errc::io_error, file.path + ": cannot be written: " + error.message());
  auto part = file.path + part_mark + "XXXXXX";
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
  if (::fsync(fd_.get()) != 0) return cannot("cannot be written");
  fd_.reset();  // a program that is open to be written cannot be run
  if (::rename(part_.c_str(), file_->path.c_str()) != 0) return cannot("cannot be replaced");
  part_.clear();
  return {};
}

}  // namespace tidegate::launch
