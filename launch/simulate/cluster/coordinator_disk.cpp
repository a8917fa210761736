#include "launch/simulate/cluster/coordinator_disk.hpp"

#include <utility>
#include <variant>

namespace tidegate::sim {

namespace {

constexpr nanoseconds disk_step_most = 2 * millisecond;
constexpr nanoseconds journal_most = 3 * millisecond;
constexpr nanoseconds told_most = millisecond;       // from there to what follows
constexpr nanoseconds tidy_most = 50 * millisecond;  // a store of objects takes its time

}  // namespace

coordinator_disk::coordinator_disk(world& where, process& owner, std::uint32_t epoch)
    : world_(where),
      owner_(owner),
      epoch_(epoch),
      found_(restored(recorded().run.has_value())) {}

void coordinator_disk::note(const std::string& text) const {
  world_.log.note(world_.time.now(), owner_.name(), text);
}

policies::recorded_cluster coordinator_disk::recorded() const {
  std::vector<runtime::journal_entry> entries;
  for (const auto& [key, value] : world_.journals[epoch_]) entries.push_back({key, value});
  auto found = policies::decode_journal(world_.plan.spec, entries);
  if (found) return *found;
  world_.check.fail("journal", found.error().to_string());
  return {};
}

void coordinator_disk::write(const std::vector<policies::coordinator_record>& records,
                             done then) {
  world_.later(owner_.id(), world_.chance.between<nanoseconds>(0, journal_most),
               [this, &records, then = std::move(then)] {
                 const auto written = keep_or_fail(records);
                 world_.later(owner_.id(), world_.chance.between<nanoseconds>(0, told_most),
                              [then, written] { then(written); });
               });
}

// A transaction is kept as a whole or not at all. One whose commit failed may have been kept.
runtime::status coordinator_disk::keep_or_fail(
    const std::vector<policies::coordinator_record>& records) {
  const auto failure = journal_failure();
  const bool is_torn = failure.code() == runtime::errc::io_error && world_.chance.chance(0.5);
  if (failure.ok() || is_torn) keep(records);
  if (!failure.ok())
    note("a write of the journal fails" + std::string(is_torn ? ", and is kept" : ""));
  return failure;
}

runtime::status coordinator_disk::journal_failure() {
  const bool is_full = world_.disks_are_full();
  const bool is_broken = world_.plan.fail_journal > 0 && !world_.faults_are_over() &&
                         world_.chance.chance(world_.plan.fail_journal);
  if (!is_full && !is_broken) return {};
  ++world_.failed_writes;
  if (is_full) return {runtime::errc::no_space, "journal: the disk is full"};
  return {runtime::errc::io_error, "journal: the disk is broken"};
}

runtime::status coordinator_disk::open_journal() {
  return world_.journals[epoch_].empty() && world_.disks_are_full() ? journal_failure()
                                                                    : runtime::status();
}

void coordinator_disk::keep(const std::vector<policies::coordinator_record>& records) {
  for (const auto& record : records) {
    if (const auto* job = std::get_if<policies::recorded_job>(&record))
      world_.check.membership().changed(job->name, job->changes);
    world_.check.journal().recorded(record);
    auto entry = policies::encode(record);
    world_.journals[epoch_][entry.key] = std::move(entry.value);
  }
}

policies::restored_cluster coordinator_disk::restored(bool goes_on) {
  policies::restored_cluster from;
  from.epoch = epoch_;
  for (const auto& job : world_.plan.spec.jobs) {
    if (!job.checkpoint) continue;
    auto& kept = keepers_[job.name];
    kept.folder = world_.folder(job.name);
    kept.catalog = std::make_unique<policies::checkpoint_catalog>(*kept.folder);
    if (goes_on) {
      if (!kept.catalog->tidy(job.checkpoint->keep, epoch_).ok()) note("the disk refuses");
      continue;
    }
    std::vector<std::string> findings;
    // A folder that cannot be synced ends a coordinator; here it is asked until it can.
    auto newest = kept.catalog->newest(findings);
    while (!newest) newest = kept.catalog->newest(findings);
    for (const auto& finding : findings) note(finding);
    if (!kept.catalog->tidy(job.checkpoint->keep, epoch_).ok()) note("the disk refuses");
    world_.check.checkpoints().goes_on_from(
        job.name, *newest ? (*newest)->manifest().id : policies::checkpoint_id());
    if (!*newest) continue;
    auto& found = from.jobs[job.name];
    found.id = (*newest)->manifest().id;
    found.clock = (*newest)->manifest().clock;
    found.left = (*newest)->manifest().left;
    note("goes on from " + job.name + " " + to_string(found.id) + " clock " +
         std::to_string(found.clock));
    for (std::size_t i = 0; i < (*newest)->manifest().tables.size(); ++i) {
      const auto& table = (*newest)->manifest().tables[i];
      const auto& about = (*newest)->chunks(i).front().stored.about;
      found.tables.push_back({table.name, table.shape, about.optimizer, about.rows});
    }
  }
  return from;
}

void coordinator_disk::begin_after(const std::string& job, policies::checkpoint_id id) {
  keepers_.at(job).catalog->begin_after(id);
}

policies::checkpoint_id coordinator_disk::begin(const std::string& job) {
  return keepers_.at(job).catalog->begin(epoch_);
}

void coordinator_disk::write(const policies::coordinator_effects::write_manifest& manifest,
                             done then) {
  const auto& catalog = *keepers_.at(manifest.manifest.job).catalog;
  if (!catalog.was_begun_last(manifest.manifest.id))
    return then({runtime::errc::cancelled, "given up meanwhile"});
  auto writer = policies::write_manifest(manifest.manifest);
  if (!writer) {
    world_.check.fail("checkpoints", "no manifest: " + writer.error().to_string());
    return then(writer.error());
  }
  manifests_.push_back({manifest, std::move(*writer), catalog, std::move(then)});
  if (manifests_.size() == 1) step();
}

void coordinator_disk::step() {
  auto& manifest = manifests_.front();
  const auto progress =
      manifest.writer.step(*keepers_.at(manifest.content.manifest.job).folder);
  if (progress == policies::file_writer::progress::working)
    return world_.later(owner_.id(), world_.chance.between<nanoseconds>(0, disk_step_most),
                        [this] { step(); });
  if (progress == policies::file_writer::progress::done) return written();
  const auto failed = std::move(manifest);
  next();
  failed.then(failed.writer.error());
}

// What is needless goes later, when the next round may have begun.
void coordinator_disk::written() {
  const auto& content = manifests_.front().content.manifest;
  auto& catalog = *keepers_.at(content.job).catalog;
  if (catalog.was_begun_last(content.id)) catalog.add(content.id, content.base);
  world_.check.checkpoints().kept(content);
  world_.later(owner_.id(), world_.chance.between<nanoseconds>(0, tidy_most),
               [this] { tidy(); });
  manifests_.front().then({});
}

void coordinator_disk::tidy() {
  auto& [content, writer, catalog, then] = manifests_.front();
  catalog.add(content.manifest.id, content.manifest.base);
  if (!catalog.tidy(content.keep, epoch_).ok()) note("the disk refuses");
  next();
}

void coordinator_disk::next() {
  manifests_.pop_front();
  if (!manifests_.empty()) step();
}

}  // namespace tidegate::sim
