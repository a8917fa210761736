#include "actors/node/checkpoint_keeper.hpp"

#include <utility>
#include <vector>

#include "policies/checkpoint/claim.hpp"
#include "policies/checkpoint/fit.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/writer.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace log = runtime::log;
using runtime::status;

runtime::expected<checkpoint_keeper> checkpoint_keeper::open(
    const policies::cluster_spec& cluster, const std::string& run_dir, std::uint32_t epoch,
    bool begins) {
  checkpoint_keeper keeper;
  keeper.found_.epoch = epoch;
  for (const auto& job : cluster.jobs)
    if (job.checkpoint)
      if (auto looked = keeper.look(job, run_dir, begins); !looked.ok())
        return runtime::fail(looked);
  return keeper;
}

status checkpoint_keeper::look(const policies::job_spec& job, const std::string& run_dir,
                               bool begins) {
  const auto path = policies::checkpoint_folder(job, run_dir);
  const bool is_claimed = !policies::named_folder(job).empty();
  // The launcher has made a folder that is shared: where it is missing its disk is.
  auto storage = is_claimed ? runtime::open_storage(path) : runtime::make_storage(path);
  if (!storage) return storage.error();
  auto& home = folders_[job.name];
  if (is_claimed) home.claimed = path;
  if (auto own = home.check_epoch(found_.epoch); !own.ok()) return own;
  home.storage = std::move(*storage);
  home.catalog = std::make_unique<policies::checkpoint_catalog>(*home.storage);
  if (begins)
    if (auto found = find(job, *home.catalog); !found.ok()) return found;
  if (auto tidied = home.catalog->tidy(job.checkpoint->keep, found_.epoch); !tidied.ok())
    log::warn("checkpoints of job " + job.name + ": " + tidied.to_string());
  return {};
}

status checkpoint_keeper::find(const policies::job_spec& job,
                               policies::checkpoint_catalog& in) {
  std::vector<std::string> findings;
  const auto newest = in.newest(findings);
  if (!newest) return newest.error();
  for (const auto& finding : findings) log::warn(finding);
  if (!*newest) return {};
  const auto& manifest = (*newest)->manifest();
  if (auto fits = policies::check_fit(**newest, job); !fits.ok()) return fits;
  auto& found = found_.jobs[job.name];
  found.id = manifest.id;
  found.clock = manifest.clock;
  found.left = manifest.left;
  for (std::size_t i = 0; i < manifest.tables.size(); ++i) {
    const auto& about = (*newest)->chunks(i).front().stored.about;
    found.tables.push_back(
        {manifest.tables[i].name, manifest.tables[i].shape, about.optimizer, about.rows});
  }
  log::info("job " + job.name + " goes on from checkpoint " + to_string(found.id) + ", clock " +
            std::to_string(found.clock));
  return {};
}

status checkpoint_keeper::folder::check_epoch(std::uint32_t epoch) const {
  if (claimed.empty()) return {};
  const auto record = runtime::open_storage(policies::claim_folder(claimed));
  return record ? policies::check_epoch(**record, epoch, claimed) : record.error();
}

void checkpoint_keeper::begin_after(const std::string& job, policies::checkpoint_id id) {
  folders_.at(job).catalog->begin_after(id);
}

policies::checkpoint_id checkpoint_keeper::begin(const std::string& job) {
  return folders_.at(job).catalog->begin(found_.epoch);
}

runtime::expected<std::shared_ptr<checkpoint_keeper::new_manifest>> checkpoint_keeper::prepare(
    const policies::coordinator_effects::write_manifest& manifest) {
  auto& home = folders_.at(manifest.manifest.job);
  if (!home.catalog->was_begun_last(manifest.manifest.id))
    return runtime::fail(runtime::errc::cancelled, "given up meanwhile");
  return std::shared_ptr<new_manifest>(new new_manifest(home, manifest, found_.epoch));
}

void checkpoint_keeper::written(const new_manifest& manifest) {
  const auto& id = manifest.of_.manifest.id;
  auto& catalog = *folders_.at(manifest.of_.manifest.job).catalog;
  if (catalog.was_begun_last(id)) catalog.add(id, manifest.of_.manifest.base);
}

status checkpoint_keeper::new_manifest::write() const {
  if (auto own = home_.check_epoch(epoch_); !own.ok()) return own;
  auto writer = policies::write_manifest(of_.manifest);
  if (!writer) return writer.error();
  const auto written = policies::write_all(std::move(*writer), *home_.storage);
  if (!written) return written.error();
  // It may have taken long, and another launcher may have claimed the place meanwhile, which
  // reads what was the newest: this process then tidies nothing there.
  return home_.check_epoch(epoch_);
}

void checkpoint_keeper::new_manifest::tidy() {
  catalog_.add(of_.manifest.id, of_.manifest.base);
  if (auto tidied = catalog_.tidy(of_.keep, epoch_); !tidied.ok())
    log::warn("checkpoints of job " + of_.manifest.job + ": " + tidied.to_string());
}

}  // namespace tidegate::actors
