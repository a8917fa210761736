// What a coordinator says must be in its journal, for the coordinator after it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/membership_checker.hpp"
#include "launch/simulate/cluster/violation_log.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::sim {

class journal_checker {
 public:
  // Both outlive it.
  journal_checker(violation_log& log, const membership_checker& membership)
      : log_(log), membership_(membership) {}

  // An epoch has a journal of its own.
  void begin_epoch() { content_ = {}; }
  // The journal has this now. What the coordinator says from then on must be in it: which
  // incarnation of a rank is in the job, the id of a table, who has finished, how a job stands.
  void recorded(const policies::coordinator_record& record);

  // What a coordinator says.
  void welcomed(const std::string& job, std::uint32_t rank, std::uint32_t incarnation);
  void granted(const std::string& job, const policies::table_grant& grant);
  void told_finished(const std::string& job, std::uint32_t rank);
  void told_status(const policies::cluster_status& status);

 private:
  struct content {
    std::vector<std::pair<std::string, std::string>> tables;  // job and name, by id
    std::uint32_t table_records = 0;
    std::map<std::string, policies::recorded_job> jobs;
    std::map<std::pair<std::string, std::uint32_t>, policies::recorded_worker> workers;
  };

  void fail(std::string message) { log_.fail("journal", std::move(message)); }

  violation_log& log_;
  const membership_checker& membership_;
  content content_;
};

}  // namespace tidegate::sim
