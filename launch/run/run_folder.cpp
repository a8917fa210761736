#include "launch/run/run_folder.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/plan/run_paths.hpp"
#include "launch/run/patience.hpp"
#include "launch/text/files.hpp"
#include "policies/checkpoint/cancelled_jobs.hpp"
#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/run_epoch.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;

runtime::status refuse(runtime::errc code, const std::string& path, const std::string& why) {
  return {code, "run folder " + path + ": " + why};
}

// What a job's `env` and the run's token say is nobody else's business.
constexpr auto private_folder = fs::perms::owner_all;
constexpr mode_t private_file = 0600;

// True: it was made. False without an error: it was there.
bool make_folder(const fs::path& path, std::error_code& error) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  return !error && fs::create_directory(path, error);
}

runtime::expected<std::string> claim_wanted(const std::string& wanted) {
  std::error_code error;
  const auto status = fs::status(wanted, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      return runtime::fail(refuse(runtime::errc::already_exists, wanted, "is no folder"));
    }
    const bool empty = fs::is_empty(wanted, error);
    if (!error && !empty) {
      return runtime::fail(refuse(runtime::errc::already_exists, wanted,
                                  "is not empty; name a new one with --run-dir"));
    }
  } else {
    error.clear();
    make_folder(wanted, error);
  }
  if (error) return runtime::fail(refuse(runtime::errc::io_error, wanted, error.message()));
  return wanted;
}

runtime::expected<std::string> claim_stamped(const std::string& first) {
  constexpr int tries_max = 1000;
  for (int i = 1; i <= tries_max; ++i) {
    const auto path = i == 1 ? first : first + "-" + std::to_string(i);
    std::error_code error;
    if (make_folder(path, error)) return path;
    if (error) return runtime::fail(refuse(runtime::errc::io_error, path, error.message()));
  }
  return runtime::fail(refuse(runtime::errc::already_exists, first, "and 999 more are taken"));
}

std::string absolute_path(const std::string& path, std::error_code& error) {
  auto absolute = fs::absolute(path, error).lexically_normal().string();
  if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return absolute;
}

// A disk that was full, or a machine that lost its power, may have left the beginning of a
// line.
runtime::status cut_half_line(const std::string& path) {
  const runtime::unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto failed = [&] {
    return runtime::status(runtime::errc::io_error, path + ": " + std::strerror(errno));
  };
  const auto end = fd ? ::lseek(fd.get(), 0, SEEK_END) : -1;
  if (end < 0) return failed();
  auto whole = end;
  for (char last = 0; whole > 0; --whole) {
    if (::pread(fd.get(), &last, 1, whole - 1) != 1) return failed();
    if (last == '\n') break;
  }
  if (whole != end && ::ftruncate(fd.get(), whole) != 0) return failed();
  return {};
}

}  // namespace

runtime::expected<run_folder> run_folder::create(const std::string& wanted,
                                                 const std::string& cluster,
                                                 std::int64_t unix_seconds) {
  auto claimed = wanted.empty() ? claim_stamped(stamped_run_dir(cluster, unix_seconds))
                                : claim_wanted(wanted);
  if (!claimed) return runtime::fail(claimed.error());
  run_folder folder;
  folder.shown_ = *claimed;
  std::error_code error;
  folder.path_ = absolute_path(*claimed, error);
  if (!error) fs::permissions(folder.path_, private_folder, error);
  if (!error) fs::create_directory(folder.path_ + "/logs", error);
  if (error) return runtime::fail(refuse(runtime::errc::io_error, *claimed, error.message()));
  if (auto opened = folder.open_files(0); !opened.ok()) return runtime::fail(opened);
  return folder;
}

runtime::expected<run_folder> run_folder::reopen(const std::string& path,
                                                 std::uint32_t patience_ms) {
  run_folder folder;
  folder.shown_ = path;
  std::error_code error;
  if (!fs::is_directory(path, error))
    return runtime::fail(refuse(runtime::errc::not_found, path, "is no folder"));
  folder.path_ = absolute_path(path, error);
  if (error) return runtime::fail(refuse(runtime::errc::io_error, path, error.message()));
  if (auto opened = folder.open_files(patience_ms); !opened.ok()) return runtime::fail(opened);
  if (auto whole = cut_half_line(folder.path_ + "/events.jsonl"); !whole.ok())
    return runtime::fail(whole);
  return folder;
}

runtime::status run_folder::open_files(std::uint32_t patience_ms) {
  auto lock = lock_as_launcher(path_, 0666, patience_ms);
  if (!lock) return lock.error();
  if (!*lock) return refuse(runtime::errc::already_exists, shown_, "another launcher has it");
  lock_ = std::move(*lock);
  auto events = event_log::open(path_ + "/events.jsonl", O_CREAT);
  if (!events) return events.error();
  events_ = std::move(*events);
  return {};
}

runtime::status run_folder::write(const std::string& name, std::string_view text,
                                  mode_t mode) const {
  return write_file_atomically(path_ + "/" + name, text, mode);
}

runtime::status run_folder::keep(const std::string& name, const std::string& text) const {
  auto folder = runtime::posix_storage::open(path_, private_file);
  if (!folder) return folder.error();
  const auto written =
      policies::write_all(policies::file_writer(name, policies::pieces_of(text, {})), *folder);
  return written ? runtime::status() : written.error();
}

runtime::expected<std::uint32_t> run_folder::last_epoch() const {
  auto folder = runtime::posix_storage::make(path_ + "/epochs");
  if (!folder) return runtime::fail(folder.error());
  return policies::last_epoch(*folder);
}

runtime::status run_folder::adopt(checkpoint_claims claims) {
  claims_ = std::move(claims);
  return claims_.link_in(path_);
}

runtime::status run_folder::record_run(const std::string& cluster) const {
  if (claims_.is_empty()) return {};
  checkpoint_claims::named_texts files;
  for (const char* name : {"cluster.yaml", "origin.json", engine_file}) {
    auto text = read_file(path_ + "/" + name);
    const bool may_lack = name == engine_file;
    if (!text && !(may_lack && text.error().code() == runtime::errc::not_found))
      return text.error();
    files.emplace_back(name, text.value_or(std::string()));
  }
  return claims_.record_run(
      files, "cluster " + cluster + ", run folder " + path_ + " on " + own_host_name());
}

runtime::status run_folder::record_epoch(std::uint32_t epoch) {
  if (auto recorded = claims_.record_epoch(epoch); !recorded.ok()) return recorded;
  auto folder = runtime::posix_storage::make(path_ + "/epochs");
  return folder ? policies::record_epoch(*folder, epoch) : folder.error();
}

runtime::expected<std::vector<std::string>> run_folder::cancelled_jobs() const {
  auto folder = runtime::posix_storage::make(path_ + "/epochs");
  if (!folder) return runtime::fail(folder.error());
  return policies::cancelled_jobs(*folder);
}

runtime::status run_folder::record_cancelled(const std::string& job) const {
  if (auto recorded = claims_.record_cancelled(job); !recorded.ok()) return recorded;
  auto folder = runtime::posix_storage::make(path_ + "/epochs");
  return folder ? policies::record_cancelled(*folder, job) : folder.error();
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host";
}

std::string last_lines(const std::string& path, std::size_t lines_max, std::int64_t bytes_max) {
  const runtime::unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  // A pipe of that name would be waited for.
  if (!fd || ::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const auto end = static_cast<std::int64_t>(found.st_size);
  const auto begin = end > bytes_max ? end - bytes_max : 0;
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const auto n = ::pread(fd.get(), text.data(), text.size(), begin);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  while (text.ends_with('\n')) text.pop_back();
  std::size_t at = text.size();
  for (std::size_t i = 0; i < lines_max && at != std::string::npos && at != 0; ++i) {
    at = text.rfind('\n', at - 1);
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

}  // namespace tidegate::launch
