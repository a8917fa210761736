// Who joins a job and who leaves it, and over whom a mean may therefore be. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/simulate/cluster/update.hpp"
#include "launch/simulate/cluster/violation_log.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::sim {

class membership_checker {
 public:
  // `log` outlives it.
  explicit membership_checker(violation_log& log) : log_(log) {}

  // Who joins and leaves is counted anew; who has ever joined or left is kept.
  void begin_epoch() { changes_.clear(); }
  // Who joins and leaves the job, in this epoch: of a rank that leaves, what it pushed of its
  // clock and later ones is not applied, and what it pushed before may be.
  void changed(const std::string& job, const std::vector<policies::membership_change>& changes);
  // A mean over `contributors` workers was made of these.
  void check_contributors(const policies::job_spec& job, const updates& with,
                          std::uint32_t contributors);

  bool has_left(const std::string& job, std::uint32_t rank) const;
  bool anybody_left(const std::string& job) const { return ever_left_.contains(job); }
  bool anybody_left() const noexcept { return !ever_left_.empty(); }
  // Returns the least clock at which anybody has ever joined the job, in this epoch or one
  // before.
  std::optional<std::uint64_t> first_join(const std::string& job) const;

 private:
  // Whether the rank pushes that clock.
  bool is_of(const policies::job_spec& job, const update& pushed) const;

  violation_log& log_;
  std::map<std::string, std::vector<policies::membership_change>> changes_;  // by job
  std::map<std::string, std::set<std::uint32_t>> ever_left_;                 // by job
  std::map<std::string, std::uint64_t> first_joins_;                         // by job: clock
};

}  // namespace tidegate::sim
