#include "tests/launch/simulate/checkpoint_world.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "launch/simulate/cluster/disk.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "runtime/base/assert.hpp"
#include "tests/launch/simulate/checkpoint_job.hpp"

namespace tidegate::sim {

namespace {

using policies::checkpoint_id;
using policies::checkpoint_reader;
using policies::file_writer;
using progress = file_writer::progress;

// A process that writes one file. Its memory is a shard's, if it is one.
struct writing {
  std::unique_ptr<disk_view> view;
  shard_snapshot snapshot;
  std::optional<file_writer> writer;
  progress state = progress::working;

  void step() {
    if (state == progress::working) state = writer->step(*view);
  }
};

class world {
 public:
  explicit world(std::uint64_t seed) : chance_(seed), job_(chance_), disk_(chance_) {
    keep_ = chance_.between<std::uint32_t>(1, 3);
    if (chance_.chance(0.2)) {
      disk_.faults.fail_append = 0.01;
      disk_.faults.fail_sync = 0.02;
      disk_.faults.fail_rename = 0.02;
    }
    if (chance_.chance(0.2)) disk_.faults.capacity_bytes = chance_.between(4'000, 60'000);
  }

  checkpoint_world_result run() {
    const auto lives = chance_.between(2, 6);
    for (int life = 0; life < lives && result_.failure.empty(); ++life) {
      // Often soon, so that the short ways from one safe state to the next are met.
      const auto calls = chance_.below(chance_.chance(0.5) ? 30 : 300);
      disk_.turn_off_after(1 + calls);
      live();
      end_life();
    }
    disk_.turn_off_after(~0ULL);
    disk_.faults = {};
    if (result_.failure.empty()) begin_life();
    result_.calls = disk_.calls();
    return result_;
  }

 private:
  void live() {
    if (!begin_life()) return;
    const auto checkpoints = chance_.between(1, 6);
    for (int i = 0; i < checkpoints && result_.failure.empty() && !disk_.is_off(); ++i) {
      make_checkpoint();
      (void)catalog_->tidy(keep_, epoch_);
    }
  }

  bool begin_life() {
    coordinator_ = std::make_unique<disk_view>(disk_);
    catalog_.emplace(*coordinator_);
    shards_before_ = shards_;
    shards_ = chance_.between<std::uint32_t>(1, std::min(job_.chunks(), 4U));
    const bool reads_fail = chance_.chance(0.05);
    disk_.faults.fail_read = reads_fail ? 0.1 : 0;
    std::vector<std::string> findings;
    const auto found = catalog_->newest(findings);
    disk_.faults.fail_read = 0;
    // A disk that is off, or cannot sync, or not be read: the next life will see.
    if (disk_.is_off() || !found) return false;
    result_.not_whole += findings.size();
    if (!check(*found, reads_fail)) return false;
    ++epoch_;
    clock_ = *found ? (*found)->manifest().clock : 0;
    return catalog_->tidy(keep_, epoch_).ok();
  }

  // Of what was durable, nothing may be lost, and nothing may have changed.
  bool check(const std::optional<checkpoint_reader>& found, bool reads_fail) {
    const auto whole = std::find_if(durable_.rbegin(), durable_.rend(),
                                    [&](checkpoint_id id) { return !damaged_.contains(id); });
    if (!found) {
      if (whole != durable_.rend() && !reads_fail)
        fail("nothing was found, but " + to_string(*whole) + " was durable");
      return result_.failure.empty();
    }
    const auto id = found->manifest().id;
    if (whole != durable_.rend() && id < *whole && !reads_fail)
      fail(to_string(id) + " was found, but " + to_string(*whole) + " was durable");
    const auto begun = begun_.find(id);
    if (begun == begun_.end()) {
      fail(to_string(id) + " was found, which nobody wrote");
    } else if (const auto why = job_.compare(*found, *coordinator_, begun->second);
               !why.empty()) {
      fail(to_string(id) + ": " + why);
    }
    ++result_.restored;
    if (shards_ != shards_before_) ++result_.from_another;
    remember(id);  // whoever goes on from it must find it again
    return result_.failure.empty();
  }

  void remember(checkpoint_id id) {
    durable_.insert(id);
    kept_.insert(id);
    const auto needless = [&](checkpoint_id old) {
      return std::count_if(durable_.upper_bound(old), durable_.end(),
                           [&](checkpoint_id writing_shard) {
                             return !damaged_.contains(writing_shard);
                           }) >= keep_;
    };
    std::erase_if(kept_, needless);
  }

  void make_checkpoint() {
    clock_ += chance_.between<std::uint64_t>(1, 3);
    const auto id = catalog_->begin(epoch_);
    begun_[id] = clock_;
    auto manifest = job_.manifest(clock_);
    manifest.id = id;
    std::vector<writing> shards;
    auto cut = job_.cut(chance_, shards_, clock_);
    for (std::uint32_t i = 0; i < shards_; ++i) {
      manifest.parts.push_back({i, {}, job_.runs(cut[i])});
      auto& added = shards.emplace_back();
      added.view = std::make_unique<disk_view>(disk_);
      added.snapshot = std::move(cut[i]);
      auto writer =
          write_shard_file({.job = manifest.job, .id = id, .shard = i}, added.snapshot.chunks);
      TIDEGATE_ASSERT(writer, "what the job has can be written");
      added.writer.emplace(std::move(*writer));
    }
    const bool written = step_to_the_end(shards);
    for (std::uint32_t i = 0; i < shards_ && written; ++i)
      manifest.parts[i].file = shards[i].writer->written();
    if (written && write(manifest)) {
      catalog_->add(id);
      remember(id);
      ++result_.checkpoints;
    } else {
      ++result_.given_up;
    }
    for (auto& writing_shard : shards)
      if (writing_shard.state == progress::working) left_.push_back(std::move(writing_shard));
  }

  // In any order, until one fails, which the others do not know, or all are done.
  bool step_to_the_end(std::vector<writing>& shards) {
    for (;;) {
      const auto works = [](const writing& writing_shard) {
        return writing_shard.state == progress::working;
      };
      const auto failed = [](const writing& writing_shard) {
        return writing_shard.state == progress::failed;
      };
      if (disk_.is_off() || std::any_of(shards.begin(), shards.end(), failed)) return false;
      if (std::none_of(shards.begin(), shards.end(), works)) return true;
      shards[chance_.below(shards.size())].step();
      if (!left_.empty() && chance_.chance(0.2)) left_[chance_.below(left_.size())].step();
    }
  }

  bool write(const policies::checkpoint_manifest& manifest) {
    std::vector<writing> writing_shard(1);
    writing_shard[0].view = std::make_unique<disk_view>(disk_);
    auto writer = write_manifest(manifest);
    TIDEGATE_ASSERT(writer, "what the coordinator has can be written");
    writing_shard[0].writer.emplace(std::move(*writer));
    const bool written = step_to_the_end(writing_shard);
    if (writing_shard[0].state == progress::working)
      left_.push_back(std::move(writing_shard[0]));
    return written;
  }

  void end_life() {
    catalog_.reset();
    if (chance_.chance(0.6)) {
      disk_.crash();
      left_.clear();
      ++result_.crashes;
    } else {
      disk_.turn_on();
      if (chance_.chance(0.5)) left_.clear();
    }
    if (chance_.chance(0.2)) damage();
  }

  // One file of a durable checkpoint, while another one that must be kept is whole.
  void damage() {
    std::vector<checkpoint_id> whole;
    for (const auto id : kept_)
      if (!damaged_.contains(id)) whole.push_back(id);
    if (whole.size() < 2) return;
    const auto id = whole[chance_.below(whole.size())];
    disk_view view(disk_);
    std::vector<std::string> files;
    const auto names = *view.list();
    for (const auto& name : names)
      if (const auto file = policies::parse_checkpoint_file(name);
          file && file->id == id && !file->is_temporary)
        files.push_back(name);
    if (files.empty()) return fail(to_string(id) + " is gone, and was to be kept");
    disk_.flip_bit(files[chance_.below(files.size())]);
    damaged_.insert(id);
  }

  void fail(std::string why) {
    if (result_.failure.empty()) result_.failure = std::move(why);
  }

  draws chance_;
  checkpoint_job job_;
  disk disk_;
  std::uint32_t keep_ = 1;
  std::uint32_t epoch_ = 0;
  std::uint64_t clock_ = 0;
  std::uint32_t shards_ = 0;
  std::uint32_t shards_before_ = 0;
  std::unique_ptr<disk_view> coordinator_;
  std::optional<policies::checkpoint_catalog> catalog_;
  std::vector<writing> left_;                     // processes that nobody waits for
  std::map<checkpoint_id, std::uint64_t> begun_;  // and its clock
  std::set<checkpoint_id> durable_;               // that somebody was told, or relied on
  std::set<checkpoint_id> kept_;                  // of them, those that nothing makes needless
  std::set<checkpoint_id> damaged_;
  checkpoint_world_result result_;
};

}  // namespace

checkpoint_world_result run_checkpoint_world(std::uint64_t seed) {
  return world(seed).run();
}

}  // namespace tidegate::sim
