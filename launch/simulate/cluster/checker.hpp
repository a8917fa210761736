// What must hold in every simulated cluster, kept apart from the cores that are to keep it.
//
// The checker hears what workers wrote, what shards summed and what workers read, and has its
// own parameters, updated with what was written, never with what a shard claims. So it sees
// updates that are lost, doubled, or summed in another order, memory that was written too early
// or read too late, and pulls that hold less than the policy promises. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/network.hpp"
#include "policies/coordinator/core.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/shard/core.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::sim {

struct violation {
  std::string promise;  // "exactly once", "staleness", ...
  std::string message;
};

// One worker's gradient of one clock. A worker that comes back may write another one; which of
// them is applied is the shard's choice, but only one is.
struct update {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  std::uint32_t incarnation = 1;

  friend auto operator<=>(const update& a, const update& b) {
    return std::tie(a.rank, a.clock) <=> std::tie(b.rank, b.clock);
  }
  friend bool operator==(const update& a, const update& b) { return (a <=> b) == 0; }
};
using updates = std::vector<update>;

// An incarnation of a worker as the checker counts them: they begin anew in each epoch.
constexpr std::uint32_t life_of(std::uint32_t epoch, std::uint32_t incarnation) noexcept {
  return epoch * 1000 + incarnation;
}

class checker {
 public:
  // What workers of a job may expect. `versions_behind`: at most so old is what a shard gives
  // one that has come back and repeats clocks: 2 where replicas are promoted, which may be
  // behind.
  void expect_job(const policies::job_spec& spec, std::uint32_t versions_behind = 1) {
    expected_[spec.name] = {spec, versions_behind};
  }
  // The job of that name goes by this token.
  void open_job(std::uint64_t token, const std::string& name) {
    jobs_.emplace(token, expected_.at(name));
  }
  // A chunk of a table, as its shard starts it.
  // In a later epoch it begins anew, or where a version was that it has had.
  void open_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                  std::uint32_t chunk, const policies::optimizer_spec& optimizer,
                  std::span<const float> first_values);
  void restore_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                     std::uint32_t chunk, const std::vector<policies::rank_progress>& ranks,
                     std::span<const float> values);
  // A checkpoint is durable; and the one that a job goes on from, number 0 for none.
  void kept(const policies::checkpoint_manifest& manifest);
  void goes_on_from(const std::string& job, policies::checkpoint_id id);

  // A worker pushes this chunk's gradient.
  void pushed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, const update& pushed,
              std::span<const float> gradient);
  // An aggregator sends the sum of these upstream, under a rank and clock of its own.
  struct sum_key {
    process_id from = 0;
    std::uint32_t rank = 0;
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint64_t clock = 0;

    friend auto operator<=>(const sum_key&, const sum_key&) = default;
  };
  void summed(const sum_key& sum, updates of) { sums_[sum] = std::move(of); }
  // Null: a push of a worker's own.
  const updates* sum_of(const sum_key& sum) const {
    const auto at = sums_.find(sum);
    return at == sums_.end() ? nullptr : &at->second;
  }
  // Who joins and leaves the job, in this epoch: of one that leaves, what it pushed of its
  // clock and later ones is not applied, and what it pushed before may be.
  void changed(const std::string& job, const std::vector<policies::roster_change>& changes);
  bool anybody_left() const noexcept { return !ever_left_.empty(); }
  // The coordinator's journal of this epoch has this now. What the coordinator says from then
  // on must be in it: which incarnation of a rank is in the job, the id of a table, who has
  // finished, how a job stands, how many workers it is to have.
  void recorded(const policies::coordinator_record& record);
  void welcomed(const std::string& job, std::uint32_t rank, std::uint32_t incarnation);
  void granted(const std::string& job, const policies::table_grant& grant);
  void told_finished(const std::string& job, std::uint32_t rank);
  void told_status(const policies::cluster_status& status);
  // A shard made a step with these and has these parameters now. `id`: matters of one that was
  // taken for dead and goes on. `team`: over so many was the mean; 0: over all.
  void applied(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, updates with,
               std::span<const float> parameters, process_id id = 0, std::uint32_t team = 0);
  // Whether a shard has opened the chunk in this epoch of the run.
  bool knows(std::uint64_t job, std::uint32_t table, std::uint32_t chunk) {
    const auto* at = find(job, table, chunk);
    return at != nullptr && at->opened_in == epoch_;
  }
  // Tables have other numbers in another epoch.
  void begin_epoch(std::uint32_t epoch) {
    epoch_ = epoch;
    changes_.clear();
    names_.clear();
    journal_ = {};
    early_seeds_.clear();
  }
  // A process has been taken for dead, and somebody goes on without it. If it lives, nothing is
  // asked of what it does from now on but what promoted() says.
  void put_out(process_id id) { out_.insert(id); }
  bool is_out(process_id id) const { return out_.contains(id); }
  // A replica has been handed the chunk. One that has only restored it may hand it on before
  // whoever serves it has opened it, which then has to begin with the same.
  void handed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
              std::span<const float> parameters);
  // A replica has made the same step.
  void followed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                std::span<const float> parameters);
  // It is the primary now: what it does not have is pushed again, and was acknowledged to
  // nobody. `before`: who was it, or was to be it, and lives. Those may go on for a while, and
  // be read, but nothing that only they have may be acknowledged.
  void promoted(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                const policies::shard_core::cut_state& has, std::span<const float> parameters,
                const std::set<process_id>& before = {});
  // Likewise of one that is_out(): it has not heard that others are before it.
  void promoted_late(process_id id, std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     const policies::shard_core::cut_state& has,
                     std::span<const float> parameters);
  // A worker has been told that its push is in.
  void acknowledged(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                    const update& pushed);
  // A worker that asked at `clock` may read these now. `everything`: see session::pull_final.
  struct reading {
    std::uint32_t rank = 0;
    std::uint64_t clock = 0;
    bool everything = false;
    std::uint32_t incarnation = 1;
  };
  void pulled(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
              const reading& options, std::span<const float> values);
  // A shard answers a pull with these: the newest it has, and what the policy says by now.
  void answered(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                const reading& options, std::span<const float> values, process_id id = 0);
  // A process takes a frame for its job's, or answers one: of this shard, at a worker.
  void accepted(process_id id, std::uint64_t job, std::uint64_t epoch, std::uint32_t shard = 0);
  // It gives a chunk's parameters away, or says that a push is in them.
  void served(process_id id, std::uint64_t job, std::uint64_t epoch, std::uint32_t table,
              std::uint32_t chunk);
  // All jobs are done.
  void all_done();

  void fail(std::string promise, std::string subject);
  const std::vector<violation>& violations() const noexcept { return violations_; }
  bool broken() const noexcept { return !violations_.empty(); }

 private:
  struct version {
    std::uint64_t digest = 0;
    std::size_t updates = 0;  // the first so many of `order`
    std::vector<float> parameters, state1, state2;
    runtime::kernels::beta_powers powers;
  };
  struct chunk_state {
    runtime::kernels::optimizer optimizer;
    runtime::kernels::beta_powers powers;
    std::vector<float> parameters, state1, state2;
    std::map<update, std::map<std::uint32_t, std::vector<float>>> written;  // by incarnation
    std::map<update, std::size_t> at;  // applied ones: their place in the order
    std::set<update> acknowledged;
    std::vector<version> versions;
    // Of primaries that have died, which somebody may still read, or have put into a
    // checkpoint: with their updates.
    std::vector<std::pair<version, std::set<update>>> ghosts;
    std::uint32_t opened_in = 0;  // epoch of the run
    // Version, by rank and incarnation.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> newest_read;
    std::uint64_t epoch = 0;  // in which `server` answers
    process_id server = 0;
  };
  using key = std::tuple<std::uint64_t, std::string, std::uint32_t>;  // job, table, chunk

  chunk_state* find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk);
  // As that process has it.
  chunk_state* find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, process_id id);
  static std::pair<version, std::set<update>> ghost_of(const chunk_state& chunk,
                                                       const version& found);
  static void note_version(chunk_state& chunk);
  static void roll_back(chunk_state& chunk, std::size_t version);
  // What replicas were handed before the chunk was opened is what it begins with.
  void check_early_seeds(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                         std::span<const float> first_values);
  // To a version, or a ghost, with these parameters and pushes. Returns false if there is no
  // such version.
  bool goes_back(const policies::job_spec& job, chunk_state& chunk,
                 std::span<const float> parameters,
                 const std::vector<policies::rank_progress>& ranks) const;
  bool is_cut(const policies::job_spec& job, const chunk_state& chunk,
              const std::function<bool(const update&)>& has,
              const std::vector<policies::rank_progress>& ranks) const;
  bool holds(const policies::job_spec& job, const chunk_state& chunk,
             const std::function<bool(const update&)>& has, const reading& options,
             std::string* missing) const;
  bool has_left(const std::string& job, std::uint32_t rank) const;
  // Whether it pushes that clock.
  bool is_of(const policies::job_spec& job, const update& pushed) const;
  // Pushed by one that has left, to nobody who would know.
  bool is_forgiven(const std::string& job, const chunk_state& chunk,
                   const update& pushed) const;
  void check_team(const policies::job_spec& job, const updates& with, std::uint32_t team);
  static std::function<bool(const update&)> updates_in(const chunk_state& chunk,
                                                       const version& found);

  struct expected_job {
    policies::job_spec spec;
    std::uint32_t versions_behind = 1;
  };
  std::map<std::string, expected_job> expected_;
  std::map<std::uint64_t, expected_job> jobs_;
  std::map<key, chunk_state> chunks_;
  std::map<std::pair<process_id, key>, chunk_state> forks_;  // of those taken for dead
  std::map<sum_key, updates> sums_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> names_;  // of tables, by id
  std::map<std::string, policies::checkpoint_id> kept_;                   // newest, by job
  // By process, job and shard.
  std::map<std::tuple<process_id, std::uint64_t, std::uint32_t>, std::uint64_t> epochs_;
  // By job, table and chunk: what replicas were handed in this epoch before it was opened.
  std::multimap<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::vector<float>>
      early_seeds_;
  std::uint32_t epoch_ = 0;
  struct journal_content {
    std::vector<std::pair<std::string, std::string>> tables;  // job and name, by id
    std::uint32_t table_records = 0;
    std::map<std::string, policies::recorded_job> jobs;
    std::map<std::pair<std::string, std::uint32_t>, policies::recorded_worker> workers;
  };
  journal_content journal_;  // of this epoch
  std::set<process_id> out_;
  std::map<std::string, std::vector<policies::roster_change>> changes_;  // in this epoch
  std::map<std::string, std::set<std::uint32_t>> ever_left_;
  std::vector<violation> violations_;
};

}  // namespace tidegate::sim
