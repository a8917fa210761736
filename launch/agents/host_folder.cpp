#include "launch/agents/host_folder.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/plan/environment.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/text/files.hpp"
#include "runtime/base/sha256.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using runtime::errc;

constexpr mode_t for_user_alone = 0700;

bool is_shared_folder(const agent_config& config) {
  const auto text = read_file(config.run_dir + "/launcher.json");
  if (!text) return false;
  const auto mark = parse_launcher(*text);
  return mark && mark->token == format_token(config.token);
}

// Another user may have made a folder of this name, with what it likes in it.
runtime::status make_private(const std::string& path) {
  if (::mkdir(path.c_str(), for_user_alone) != 0 && errno != EEXIST)
    return {errno == ENOSPC ? errc::no_space : errc::io_error,
            path + ": " + std::strerror(errno)};
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return {errc::io_error, path + ": " + std::strerror(errno)};
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::getuid() || (found.st_mode & 077) != 0)
    return {errc::refused,
            path + " is there, and is not a folder of user " + std::to_string(::getuid()) +
                " alone: have it removed, or share the run folder with this host"};
  return {};
}

runtime::status remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return {errc::io_error, path + ": " + error.message()};
  return {};
}

// Two runs of the same name are of other launchers, or in other folders; two hosts may be one
// machine.
std::string own_path(const agent_config& config) {
  runtime::sha256 hash;
  hash.update(std::as_bytes(std::span(config.host)));
  hash.update(std::as_bytes(std::span(config.launcher_host)));
  hash.update(std::as_bytes(std::span(config.run_dir)));
  constexpr std::size_t digits = 12;
  return "/tmp/tidegate-" + std::to_string(::getuid()) + "/" +
         fs::path(config.run_dir).filename().string() + "-" + hash.finish().substr(0, digits);
}

}  // namespace

runtime::expected<host_folder> host_folder::open(const agent_config& config,
                                                 const policies::cluster_spec& spec) {
  if (is_shared_folder(config)) return host_folder(config.run_dir, true);
  for (const auto& job : spec.jobs)
    if (job.checkpoint)
      return runtime::fail(
          errc::invalid_argument,
          "this host does not see the run folder " + config.run_dir +
              " of the launcher, and job " + job.name +
              " writes checkpoints there, which all hosts have to see: launch with "
              "--run-dir in a folder that all hosts share");
  const auto path = own_path(config);
  auto prepared = make_private(fs::path(path).parent_path().string());
  if (prepared.ok()) prepared = make_private(path);
  if (prepared.ok()) prepared = make_private(path + "/logs");
  if (prepared.ok())
    prepared = write_file_atomically(path + "/cluster.yaml", config.cluster, 0600);
  if (!prepared.ok()) return runtime::fail(std::move(prepared));
  return host_folder(path, false);
}

runtime::status host_folder::clear_logs() const {
  if (is_shared_) return {};
  auto cleared = remove_all(path_ + "/logs");
  return cleared.ok() ? make_private(path_ + "/logs") : cleared;
}

void host_folder::remove() const {
  if (!is_shared_) (void)remove_all(path_);
}

}  // namespace tidegate::launch
