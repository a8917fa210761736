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
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/checkpoint_checker.hpp"
#include "launch/simulate/cluster/chunk_history.hpp"
#include "launch/simulate/cluster/journal_checker.hpp"
#include "launch/simulate/cluster/membership_checker.hpp"
#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/sum_ledger.hpp"
#include "launch/simulate/cluster/violation_log.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/shard/core.hpp"

namespace tidegate::sim {

// An incarnation of a worker as the checker counts them: they begin anew in each epoch.
constexpr std::uint32_t epoch_incarnation_of(std::uint32_t epoch,
                                             std::uint32_t incarnation) noexcept {
  return epoch * 1000 + incarnation;
}

class checker {
 public:
  membership_checker& membership() noexcept { return membership_; }
  const membership_checker& membership() const noexcept { return membership_; }
  journal_checker& journal() noexcept { return journal_; }
  checkpoint_checker& checkpoints() noexcept { return checkpoints_; }
  sum_ledger& sums() noexcept { return sums_; }

  // What workers of a job may expect. `versions_behind`: at most so old is what a shard gives
  // one that has come back and repeats clocks: 2 where replicas are promoted, which may be
  // behind. `asks_ahead`: so may any that asks for rows ahead, and has pushed before its
  // question arrives.
  void expect_job(const policies::job_spec& spec, std::uint32_t versions_behind = 1,
                  bool asks_ahead = false) {
    expected_[spec.name] = {spec, versions_behind, asks_ahead};
  }
  // The job of that name goes by this token.
  void open_job(std::uint64_t token, const std::string& name) {
    jobs_.emplace(token, expected_.at(name));
  }
  // A chunk of a table, as its shard starts it.
  // In a later epoch it begins anew, or where a version was that it has had.
  void open_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                  std::uint32_t chunk, const policies::optimizer_spec& optimizer,
                  std::span<const float> first_values, std::optional<row_model> rows = {});
  void restore_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                     std::uint32_t chunk, const std::vector<policies::rank_progress>& ranks,
                     const served_values& values);
  // A worker pushes this chunk's gradient.
  void pushed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, const update& pushed,
              std::span<const float> gradient);
  // Over so many was the mean of a step, 0: over all; and what the squares of the whole
  // gradient of the clock are, where the job clips by its norm.
  struct step_terms {
    std::uint32_t contributors = 0;
    double squares = 0;
  };
  // A shard made a step with these and has these parameters now. `id`: matters of one that was
  // taken for dead and goes on.
  void applied(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, updates with,
               std::span<const float> parameters, process_id id, const step_terms& terms);
  void applied(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, updates with,
               std::span<const float> parameters) {
    applied(job, table, chunk, std::move(with), parameters, 0, {});
  }
  // Whether a shard has opened the chunk in this epoch of the run.
  bool knows(std::uint64_t job, std::uint32_t table, std::uint32_t chunk) {
    const auto* at = find(job, table, chunk);
    return at != nullptr && at->opened_in == epoch_;
  }
  // Tables have other numbers in another epoch.
  void begin_epoch(std::uint32_t epoch);
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
                const policies::shard_core::cut_state& has, const served_values& values,
                const std::set<process_id>& before = {});
  // Likewise of one that is_out(): it has not heard that others are before it.
  void promoted_late(process_id id, std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     const policies::shard_core::cut_state& has, const served_values& values);
  // A worker has been told that its push is in.
  void acknowledged(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                    const update& pushed);
  // A worker that asked at `clock` may read these now. `everything`: see session::pull_final.
  struct reading {
    std::uint32_t rank = 0;
    std::uint64_t clock = 0;
    bool is_final = false;
    std::uint32_t incarnation = 1;
  };
  void pulled(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
              const reading& options, std::span<const float> values);
  // Returns true if these are the parameters of a version that died with its primary, which
  // somebody may have read: it had pushes that are not there any more, where their rank has
  // left.
  bool has_died(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                std::span<const float> values);
  // A function's result for a part of a table of rows.
  struct called_sum {
    std::span<const float> values;  // of all rows of the part, as the caller has read them
    double sum = 0;                 // of those that there are
    bool is_exact = false;          // it is of the version that was read
  };
  void called(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
              const called_sum& result);
  // A shard answers a pull with these: the newest it has, and what the policy says by now.
  // `is_late`: the answer has waited for the shard's device, and there may be newer ones since.
  void answered(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                const reading& options, std::span<const float> values, process_id id = 0,
                bool is_late = false);
  // A process takes a frame for its job's, or answers one: of this shard, at a worker.
  void accepted(process_id id, std::uint64_t job, std::uint64_t epoch, std::uint32_t shard = 0);
  // It gives a chunk's parameters away, or says that a push is in them.
  void served(process_id id, std::uint64_t job, std::uint64_t epoch, std::uint32_t table,
              std::uint32_t chunk);
  // All jobs are done, but those that were cancelled.
  void all_done(const std::function<bool(const std::string& job)>& was_cancelled = nullptr);
  // Returns true if `why` names a job that cannot go on from its checkpoint, and that may be:
  // who has left was summed on the way under ssp or async (docs/decisions/0011, (h)).
  bool may_not_go_on(const std::string& why) const;

  void fail(std::string promise, std::string message) {
    log_.fail(std::move(promise), std::move(message));
  }
  const std::vector<violation>& violations() const noexcept { return log_.all(); }
  bool broken() const noexcept { return !log_.all().empty(); }

 private:
  using key = std::tuple<std::uint64_t, std::string, std::uint32_t>;  // job, table, chunk

  chunk_history* find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk);
  // As that process has it.
  chunk_history* find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                      process_id id);
  // Checks what a step took the whole gradient of a clock for.
  void check_norm(std::uint64_t job, std::uint64_t clock, std::uint32_t contributors,
                  double squares);
  double squares_of(std::uint64_t job, std::uint64_t clock, std::uint32_t contributors) const;
  // What replicas were handed before the chunk was opened is what it begins with.
  void check_early_seeds(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                         std::span<const float> first_values);
  // To a version, or a ghost, with these values and pushes. Returns false if there is no such
  // version.
  bool goes_back(const policies::job_spec& job, chunk_history& chunk,
                 const served_values& values,
                 const std::vector<policies::rank_progress>& ranks) const;
  bool is_cut(const policies::job_spec& job, const chunk_history& chunk,
              const chunk_history::contains& has,
              const std::vector<policies::rank_progress>& ranks) const;
  bool holds(const policies::job_spec& job, const chunk_history& chunk,
             const chunk_history::contains& has, const reading& options,
             std::string* missing) const;
  // Pushed by one that has left, to nobody who would know.
  bool is_forgiven(const std::string& job, const chunk_history& chunk,
                   const update& pushed) const;

  struct expected_job {
    policies::job_spec spec;
    std::uint32_t versions_behind = 1;
    bool asks_ahead = false;
  };
  violation_log log_;
  membership_checker membership_{log_};
  journal_checker journal_{log_, membership_};
  checkpoint_checker checkpoints_{log_};
  sum_ledger sums_;
  std::map<std::string, expected_job> expected_;
  std::map<std::uint64_t, expected_job> jobs_;
  std::map<key, chunk_history> chunks_;
  std::map<std::pair<process_id, key>, chunk_history> forks_;  // of those taken for dead
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> names_;  // of tables, by id
  // By process, job and shard.
  std::map<std::tuple<process_id, std::uint64_t, std::uint32_t>, std::uint64_t> epochs_;
  // By job, table and chunk: what replicas were handed in this epoch before it was opened.
  std::multimap<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::vector<float>>
      early_seeds_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> squares_;  // by job and clock
  bool anybody_promoted_ = false;
  std::uint32_t epoch_ = 0;
  std::set<process_id> out_;
};

}  // namespace tidegate::sim
