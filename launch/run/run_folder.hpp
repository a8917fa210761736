// The folder of one run; see docs/yaml.md for what is in it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launch/plan/plan.hpp"
#include "launch/run/checkpoint_claims.hpp"
#include "launch/run/event_log.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class run_folder {
 public:
  // `wanted`: must be new or empty. Empty: runs/<cluster>-<local time of unix_seconds>, with
  // -2, -3, ... where that is taken. Makes logs/ and an empty events.jsonl. Errors:
  // already_exists (not empty, or no folder); io_error (cannot be written). It is its user's
  // alone (0700), as programs get secrets through it.
  // Claims the run for this process, as reopen does.
  static runtime::expected<run_folder> create(const std::string& wanted,
                                              const std::string& cluster,
                                              std::int64_t unix_seconds);
  // The folder of a run that was begun before. A half-written last line of events.jsonl is cut
  // off. Nobody else gets the folder as long as this lives: the claim is a lock that the kernel
  // lets go of with the process, and that is waited for as lock_as_launcher does. Errors:
  // not_found (no folder), already_exists (a process that lives has it), io_error.
  static runtime::expected<run_folder> reopen(const std::string& path,
                                              std::uint32_t patience_ms = 0);

  const std::string& path() const noexcept { return path_; }    // absolute
  const std::string& shown() const noexcept { return shown_; }  // as given

  // Replaces `name` as a whole; a crash of the machine may lose it. Errors: io_error.
  runtime::status write(const std::string& name, std::string_view text,
                        mode_t mode = 0666) const;
  // So that it survives a crash of the machine, for its user alone; there is no such file yet.
  // Errors: of storages.
  runtime::status keep(const std::string& name, const std::string& text) const;
  // The highest epoch on record, and a higher one to be put there:
  // policies/checkpoint/run_epoch.hpp.
  runtime::expected<std::uint32_t> last_epoch() const;
  runtime::status record_epoch(std::uint32_t epoch);
  // Likewise, jobs that somebody has cancelled: policies/checkpoint/cancelled_jobs.hpp.
  runtime::expected<std::vector<std::string>> cancelled_jobs() const;
  runtime::status record_cancelled(const std::string& job) const;
  // Takes the claims on folders of checkpoints, in which epochs and cancelled jobs are put on
  // record, too, and links them into this folder. Errors: io_error.
  runtime::status adopt(checkpoint_claims claims);
  const checkpoint_claims& claims() const noexcept { return claims_; }
  // Puts the run on record there, with what it is begun with, for whoever loses this folder.
  // Errors: of storages, and of read_file().
  runtime::status record_run(const std::string& cluster) const;
  // As event_log::append.
  runtime::status append_event(const policies::cluster_event& event) {
    return events_.append(event);
  }

 private:
  runtime::status open_files(std::uint32_t patience_ms);

  std::string path_;
  std::string shown_;
  runtime::unique_fd lock_;
  event_log events_;
  checkpoint_claims claims_;
};

// Returns the name of this host, or "a host" where the system does not say.
std::string own_host_name();

// The last lines of a file, of so many bytes at most, so that the first may be a part of one;
// empty when it cannot be read.
std::string last_lines(const std::string& path, std::size_t lines_max,
                       std::int64_t bytes_max = 8 * 1024);

}  // namespace tidegate::launch
