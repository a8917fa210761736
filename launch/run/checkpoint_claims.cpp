#include "launch/run/checkpoint_claims.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "launch/run/patience.hpp"
#include "policies/checkpoint/cancelled_jobs.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/run_epoch.hpp"
#include "runtime/base/object_place.hpp"
#include "runtime/objects/open_storage.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;
using runtime::storage_pointer;

// What a job's `env` says is nobody else's business.
constexpr mode_t record_mode = 0600;

// The launcher's hosts hear nothing of it while it waits for a store.
constexpr auto brief = runtime::object_patience::brief;

expected<storage_pointer> open_record(const std::string& checkpoints) {
  return runtime::open_storage(policies::claim_folder(checkpoints),
                               {.file_mode = record_mode, .patience = brief});
}

// A folder that is missing is a disk that is not mounted, so it is not made. A bucket is asked
// for what is in it, and says then that it is missing.
status check_folder(const policies::job_spec& job) {
  const auto& path = job.checkpoint->path;
  if (runtime::is_object_place(path)) return {};
  const auto subject = "jobs." + job.name + ".checkpoint.path: " + path;
  std::error_code error;
  const auto found = fs::status(path, error);
  if (found.type() == fs::file_type::not_found)
    return {errc::not_found,
            subject + " is not there: make it, or mount it, on all hosts of the cluster"};
  if (error) return {errc::io_error, subject + ": " + error.message()};
  if (!fs::is_directory(found)) return {errc::invalid_argument, subject + " is no folder"};
  return {};
}

// A store that says no does so whenever it is asked again: what is wrong is what it was told.
status named(const policies::job_spec& job, const status& why) {
  return {why.code() == errc::refused ? errc::invalid_argument : why.code(),
          "jobs." + job.name + ".checkpoint.path: " + why.message()};
}

expected<storage_pointer> make_record(const policies::job_spec& job,
                                      const std::string& checkpoints) {
  const auto path = policies::claim_folder(checkpoints);
  auto record = runtime::make_storage(path, {.file_mode = record_mode, .patience = brief});
  if (!record) return fail(named(job, record.error()));
  std::error_code error;
  if (!runtime::is_object_place(path)) fs::permissions(path, fs::perms::owner_all, error);
  if (error) return fail(errc::io_error, path + ": " + error.message());
  return record;
}

// Locks FOLDER/JOB/run. A store has no locks: there the epochs alone keep launchers apart.
status lock(const std::string& checkpoints, std::uint32_t patience_ms, runtime::unique_fd& into,
            bool& has_launcher) {
  if (runtime::is_object_place(checkpoints)) return {};
  auto locked = lock_as_launcher(policies::claim_folder(checkpoints), record_mode, patience_ms);
  if (!locked) return locked.error();
  into = std::move(*locked);
  has_launcher = !into;
  return {};
}

}  // namespace

expected<checkpoint_claims::claimed_folder> checkpoint_claims::claim(
    const policies::job_spec& job, policies::claim_wish wish, const std::string& run,
    std::uint32_t patience_ms, policies::claim_remains& found) {
  if (auto is_there = check_folder(job); !is_there.ok()) return fail(std::move(is_there));
  claimed_folder folder{
      .job = job.name, .checkpoints = policies::named_folder(job), .lock = {}};
  auto record = make_record(job, folder.checkpoints);
  if (!record) return fail(record.error());
  auto checkpoints = runtime::open_storage(folder.checkpoints, {.patience = brief});
  if (!checkpoints) return fail(checkpoints.error());
  bool has_launcher = false;
  auto locked = lock(folder.checkpoints, patience_ms, folder.lock, has_launcher);
  if (!locked.ok()) return fail(std::move(locked));
  auto remains = policies::read_claims(**record, **checkpoints);
  if (!remains) return fail(named(job, remains.error()));
  remains->has_launcher = has_launcher;
  if (auto may = policies::check_claim(*remains, wish, run, job.name, folder.checkpoints);
      !may.ok())
    return fail(std::move(may));
  folder.epoch = remains->recorded_epoch;
  found = std::move(*remains);
  return folder;
}

expected<checkpoint_claims> checkpoint_claims::open(const policies::cluster_spec& spec,
                                                    policies::claim_wish wish,
                                                    const std::string& run,
                                                    std::uint32_t patience_ms) {
  checkpoint_claims claims;
  for (const auto& job : spec.jobs) {
    if (policies::named_folder(job).empty()) continue;
    policies::claim_remains found;
    auto folder = claim(job, wish, run, patience_ms, found);
    if (!folder) return fail(folder.error());
    claims.last_epoch_ = std::max(claims.last_epoch_, found.last_epoch);
    claims.folders_.push_back(std::move(*folder));
  }
  if (!claims.is_empty()) claims.run_ = run;
  return claims;
}

expected<std::vector<std::string>> checkpoint_claims::cancelled_jobs() const {
  std::set<std::string> jobs;
  for (const auto& folder : folders_) {
    auto record = open_record(folder.checkpoints);
    if (!record) return fail(record.error());
    const auto cancelled = policies::cancelled_jobs(**record);
    if (!cancelled) return fail(cancelled.error());
    jobs.insert(cancelled->begin(), cancelled->end());
  }
  return std::vector<std::string>(jobs.begin(), jobs.end());
}

status checkpoint_claims::record_epoch(std::uint32_t epoch) {
  for (auto& folder : folders_) {
    auto record = open_record(folder.checkpoints);
    if (!record) return record.error();
    if (auto own = policies::check_epoch(**record, folder.epoch, folder.checkpoints); !own.ok())
      return own;
    if (folder.epoch == epoch) continue;
    auto claimed = policies::claim_epoch(**record, epoch);
    if (claimed.code() == errc::already_exists)
      return {errc::refused, folder.checkpoints + ": another launcher has claimed epoch " +
                                 std::to_string(epoch) +
                                 " there just now: " + claimed.message()};
    // One that could not be written is this launcher's all the same.
    folder.epoch = epoch;
    if (!claimed.ok()) return claimed;
  }
  return {};
}

status checkpoint_claims::record_run(const named_texts& files,
                                     const std::string& described) const {
  for (const auto& folder : folders_) {
    auto record = open_record(folder.checkpoints);
    if (!record) return record.error();
    for (const auto& [name, text] : files) {
      auto written =
          text.empty() ? (*record)->remove(name) : policies::replace_file(**record, name, text);
      if (!written.ok() && !(text.empty() && written.code() == errc::not_found)) return written;
    }
    if (auto written = policies::record_run(**record, run_, described); !written.ok())
      return written;
  }
  return {};
}

status checkpoint_claims::record_cancelled(const std::string& job) const {
  for (const auto& folder : folders_) {
    auto record = open_record(folder.checkpoints);
    if (!record) return record.error();
    if (auto recorded = policies::record_cancelled(**record, job); !recorded.ok())
      return recorded;
  }
  return {};
}

status checkpoint_claims::link_in(const std::string& run_dir) const {
  for (const auto& folder : folders_) {
    const auto link = policies::checkpoint_folder(run_dir, folder.job);
    std::error_code error;
    fs::create_directories(fs::path(link).parent_path(), error);
    if (!error && fs::symlink_status(link, error).type() == fs::file_type::not_found) {
      error.clear();
      fs::create_directory_symlink(folder.checkpoints, link, error);
    }
    if (error) return {errc::io_error, link + ": " + error.message()};
  }
  return {};
}

}  // namespace tidegate::launch
