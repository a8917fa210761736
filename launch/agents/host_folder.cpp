#include "launch/agents/host_folder.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/plan/environment.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/text/files.hpp"
#include "policies/checkpoint/claim.hpp"
#include "policies/checkpoint/name.hpp"
#include "runtime/base/object_place.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/objects/open_storage.hpp"

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

// Likewise, where there is a store of objects in place of a folder.
runtime::status check_objects(const agent_config& config, const policies::job_spec& job) {
  const auto subject = "host " + config.host + ": jobs." + job.name + ".checkpoint.path: ";
  const auto known = [&config](const char* name) -> const char* {
    const auto at = config.variables.find(name);
    return at == config.variables.end() ? nullptr : at->second.c_str();
  };
  const auto record =
      runtime::open_storage(policies::claim_folder(policies::named_folder(job)),
                            {.patience = runtime::object_patience::brief, .variable = known});
  if (!record) return {record.error().code(), subject + record.error().message()};
  const auto mark = (*record)->size(policies::run_file_name(config.run));
  auto result = mark ? runtime::status() : mark.error();
  const auto probe = "host-" + config.host;
  if (result.ok()) result = policies::replace_file(**record, probe, "\n");
  if (result.ok()) result = (*record)->remove(probe);
  if (result.ok()) return {};
  return {errc::invalid_argument,
          subject +
              "this host does not reach the store as the launcher does: " + result.message() +
              "; the address (AWS_ENDPOINT_URL) must be the same on all hosts"};
}

// The launcher has put the run on record beside the checkpoints, under a name that nobody has
// looked up before: a file system that is shared, and slow to say so, is asked anew.
runtime::status check_checkpoints(const agent_config& config, const policies::job_spec& job) {
  const auto subject = "host " + config.host + ": jobs." + job.name + ".checkpoint.path: ";
  const auto record = policies::claim_folder(policies::named_folder(job));
  const auto mark = record + "/" + policies::run_file_name(config.run);
  std::error_code error;
  if (!fs::exists(mark, error))
    return {errc::invalid_argument,
            subject + "this host does not see the folder " + job.checkpoint->path +
                " of the launcher, where job " + job.name + " writes checkpoints: " + mark +
                (error && error != std::errc::no_such_file_or_directory ? ": " + error.message()
                                                                        : " is not there") +
                "; mount the same folder there on all hosts"};
  const auto probe = record + "/host-" + config.host;
  const runtime::unique_fd fd(
      ::open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool has_written = fd && ::write(fd.get(), "\n", 1) == 1;
  const auto why = has_written ? std::string() : std::strerror(errno);
  if (fd) ::unlink(probe.c_str());
  if (!has_written)
    return {errc::invalid_argument, subject + "this host cannot write to " +
                                        job.checkpoint->path + ", where job " + job.name +
                                        " writes checkpoints: " + probe + ": " + why};
  return {};
}

runtime::status check_jobs(const agent_config& config, const policies::cluster_spec& spec,
                           bool is_shared) {
  for (const auto& job : spec.jobs) {
    if (!job.checkpoint) continue;
    if (!job.checkpoint->path.empty()) {
      const bool has_store = runtime::is_object_place(job.checkpoint->path);
      auto sees = has_store ? check_objects(config, job) : check_checkpoints(config, job);
      if (!sees.ok()) return sees;
    } else if (!is_shared) {
      return {errc::invalid_argument,
              "this host does not see the run folder " + config.run_dir +
                  " of the launcher, and job " + job.name +
                  " writes checkpoints there, which all hosts have to see: launch with "
                  "--run-dir in a folder that all hosts share, or name one for checkpoints "
                  "alone (jobs." +
                  job.name + ".checkpoint.path)"};
    }
  }
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
  const bool is_shared = is_shared_folder(config);
  if (auto fits = check_jobs(config, spec, is_shared); !fits.ok())
    return runtime::fail(std::move(fits));
  if (is_shared) return host_folder(config.run_dir, true);
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
