// Names of the files of a checkpoint. A folder has the checkpoints of one job:
//
//   e0002-00000017.manifest        the checkpoint: what it consists of
//   e0002-00000017-s0003.safetensors   the chunks that shard 3 wrote
//   ....tmp                        any of them while it is being written
//
// Pure, any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "policies/model/spec.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// Which checkpoint. Ascending is from old to new: an epoch begins with what an earlier one
// left, so whoever still writes in an earlier one writes what is older. No checkpoint has the
// number of another of its folder, in whatever epoch.
struct checkpoint_id {
  std::uint32_t epoch = 0;
  std::uint64_t number = 0;

  friend auto operator<=>(const checkpoint_id&, const checkpoint_id&) = default;
};

// Returns FOLDER/JOB where the job names a folder for its checkpoints; empty: it names none.
std::string named_folder(const job_spec& job);
// FOLDER/JOB where the job names a folder (jobs.*.checkpoint.path), else
// RUN_DIR/checkpoints/JOB.
std::string checkpoint_folder(const job_spec& job, std::string_view run_dir);
// Returns it for each job that has checkpoints, by name.
std::map<std::string, std::string> checkpoint_folders(const cluster_spec& cluster,
                                                      std::string_view run_dir);
// RUN_DIR/checkpoints/JOB, a link where the job names a folder.
std::string checkpoint_folder(std::string_view run_dir, std::string_view job);

std::string to_string(checkpoint_id id);  // "e0002-00000017"
std::optional<checkpoint_id> parse_checkpoint_id(std::string_view text);

using runtime::temporary_suffix;
std::string manifest_name(checkpoint_id id);
std::string shard_file_name(checkpoint_id id, std::uint32_t shard);

// What the name of a file says; none for files that are not ours.
struct checkpoint_file {
  checkpoint_id id;
  bool is_manifest = false;
  bool is_temporary = false;
};
std::optional<checkpoint_file> parse_checkpoint_file(std::string_view name);

}  // namespace tidegate::policies
