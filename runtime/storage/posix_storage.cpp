#include "runtime/storage/posix_storage.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

status failure(const std::string& path, const char* doing) {
  const int why = errno;
  const auto subject = path + ": " + doing + ": " + std::strerror(why);
  switch (why) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return {errc::no_space, subject + "; free some and try again"};
    case ENOENT:
      return {errc::not_found, subject};
    case EEXIST:
      return {errc::already_exists, subject};
    default:
      return {errc::io_error, subject};
  }
}

expected<unique_fd> open_folder(const std::string& path) {
  unique_fd fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return fail(failure(path, "cannot be opened"));
  return fd;
}

// The name of a new folder is in the one above it.
status sync_above(const std::string& path) {
  const auto slash = path.find_last_of('/');
  const auto above = slash == std::string::npos ? std::string(".")
                     : slash == 0               ? std::string("/")
                                                : path.substr(0, slash);
  const auto fd = open_folder(above);
  if (!fd) return fd.error();
  if (::fsync(fd->get()) != 0) return failure(above, "cannot be synced");
  return {};
}

}  // namespace

expected<posix_storage> posix_storage::open(const std::string& folder, mode_t file_mode) {
  auto fd = open_folder(folder);
  if (!fd) return fail(fd.error());
  posix_storage opened(folder, std::move(*fd));
  opened.file_mode_ = file_mode;
  return opened;
}

expected<posix_storage> posix_storage::make(const std::string& folder) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    const auto path = folder.substr(0, end);
    if (::mkdir(path.c_str(), 0777) == 0) {
      if (auto synced = sync_above(path); !synced) return fail(std::move(synced));
    } else if (errno != EEXIST) {
      return fail(failure(path, "cannot be made"));
    }
  }
  return open(folder);
}

status posix_storage::check(const std::string& name) const {
  if (is_file_name(name)) return {};
  return {errc::invalid_argument,
          folder_ + ": '" + name +
              "' is no name of a file here; allowed: 1 to 200 of A-Z a-z 0-9 . _ -, the first "
              "no dot"};
}

status posix_storage::failed(const std::string& name, const char* doing) const {
  return failure(folder_ + "/" + name, doing);
}

posix_storage::open_file& posix_storage::opened(const std::string& name) {
  const auto found = files_.find(name);
  TIDEGATE_ASSERT(found != files_.end(), "the file has been created here and not closed");
  return found->second;
}

status posix_storage::create(const std::string& name) {
  if (auto right = check(name); !right) return right;
  constexpr int mode = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  unique_fd fd(
      uninterrupted([&] { return ::openat(fd_.get(), name.c_str(), mode, file_mode_); }));
  if (!fd) return failed(name, "cannot be created");
  files_[name] = {std::move(fd), 0};
  return {};
}

status posix_storage::append(const std::string& name, std::span<const std::byte> bytes) {
  auto& file = opened(name);
  while (!bytes.empty()) {
    const auto written = uninterrupted([&] {
      return ::pwrite(file.fd.get(), bytes.data(), bytes.size(),
                      static_cast<off_t>(file.bytes));
    });
    if (written < 0) return failed(name, "cannot be written");
    file.bytes += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

status posix_storage::sync(const std::string& name) {
  if (uninterrupted([&] { return ::fsync(opened(name).fd.get()); }) == 0) return {};
  return failed(name, "cannot be synced");
}

status posix_storage::close(const std::string& name) {
  // Not again after EINTR: Linux has closed it by then.
  const int result = ::close(opened(name).fd.release());
  const int why = errno;
  files_.erase(name);
  errno = why;
  return result == 0 || why == EINTR ? status() : failed(name, "cannot be closed");
}

status posix_storage::rename(const std::string& from, const std::string& to) {
  for (const auto* name : {&from, &to}) {
    if (auto right = check(*name); !right) return right;
    TIDEGATE_ASSERT(!files_.contains(*name), "a file is closed before it is renamed");
  }
  if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return {};
  return failed(from, ("cannot be renamed to " + to).c_str());
}

status posix_storage::remove(const std::string& name) {
  if (auto right = check(name); !right) return right;
  files_.erase(name);
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0) return {};
  return failed(name, "cannot be removed");
}

status posix_storage::sync_folder() {
  if (uninterrupted([&] { return ::fsync(fd_.get()); }) == 0) return {};
  return failure(folder_, "cannot be synced");
}

expected<std::vector<std::string>> posix_storage::list() {
  // A descriptor of its own: reading moves it.
  auto fd = open_folder(folder_);
  if (!fd) return fail(fd.error());
  DIR* folder = ::fdopendir(fd->get());
  if (folder == nullptr) return fail(failure(folder_, "cannot be read"));
  fd->release();  // closedir closes it
  std::vector<std::string> names;
  errno = 0;
  while (const auto* entry = ::readdir(folder)) {
    struct stat about {};
    const bool regular = entry->d_type == DT_REG || (entry->d_type == DT_UNKNOWN &&
                                                     ::fstatat(fd_.get(), entry->d_name, &about,
                                                               AT_SYMLINK_NOFOLLOW) == 0 &&
                                                     S_ISREG(about.st_mode));
    if (regular && is_file_name(entry->d_name)) names.emplace_back(entry->d_name);
    errno = 0;
  }
  auto result = errno == 0 ? status() : failure(folder_, "cannot be read");
  ::closedir(folder);
  if (!result) return fail(std::move(result));
  std::sort(names.begin(), names.end());
  return names;
}

expected<std::uint64_t> posix_storage::size(const std::string& name) {
  if (auto right = check(name); !right) return fail(std::move(right));
  struct stat about {};
  if (::fstatat(fd_.get(), name.c_str(), &about, 0) != 0)
    return fail(failed(name, "cannot be looked at"));
  return static_cast<std::uint64_t>(about.st_size);
}

status posix_storage::read(const std::string& name, std::uint64_t offset,
                           std::span<std::byte> into) {
  if (auto right = check(name); !right) return right;
  const unique_fd fd(uninterrupted(
      [&] { return ::openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
  if (!fd) return failed(name, "cannot be opened");
  while (!into.empty()) {
    const auto n = uninterrupted([&] {
      return ::pread(fd.get(), into.data(), into.size(), static_cast<off_t>(offset));
    });
    if (n < 0) return failed(name, "cannot be read");
    if (n == 0)
      return {errc::corrupt, folder_ + "/" + name + ": ends at byte " + std::to_string(offset) +
                                 ", " + std::to_string(into.size()) + " bytes too early"};
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace tidegate::runtime
