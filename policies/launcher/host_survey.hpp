// Which hosts reach which, as their agents find out: each listens, is told where the others do,
// and tries to connect to them. The start of the cluster waits for the first survey, which
// begins when all hosts are there that have processes then, and ends the run where hosts do not
// reach each other that have to (launch_plan::must_reach), twice, with a pause between: a
// network may be out for a moment, or come up late. A host that comes later is surveyed with
// all that are there by then; one that was lost is used again only when it reaches them, and
// they reach it.
//
//   listen, to all --all have told--> reach, to all --all have told--> end, to all
//
// Whoever is lost meanwhile is waited for no longer, and what others say of it does not count.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class host_survey {
 public:
  explicit host_survey(launcher_state& state);

  // launch_core::host_up(), host_down(), host_surveyed().
  void up(host_number host, launch_effects& out);
  void down(host_number host);
  void told(host_number host, const agent_reports::surveyed& news);
  // Begins a survey where one is due, goes on with it, and judges it.
  void go_on(std::int64_t now, launch_effects& out);

  // Returns true once the hosts that the start needs are known to reach each other.
  bool is_done() const noexcept { return is_done_; }
  // Says, of one that is not, who is waited for.
  std::string waits_for() const;
  std::int64_t next_wake() const;

 private:
  struct host_state {
    bool is_up = false;
    bool is_known = false;      // it was surveyed since it is up
    std::int64_t again_at = 0;  // it is surveyed again, not before
    std::string told;           // of it, last
  };
  // A host in the survey that is under way.
  struct member {
    bool has_told = false;
    std::uint16_t port = 0;
    std::string not_listening;  // why
    std::vector<unreached_host> unreached;
  };
  struct failure {
    host_number from = 0;
    host_number to = 0;
    std::string why;
  };

  bool is_due(std::int64_t now) const;
  bool is_new(host_number host) const { return !hosts_[host].is_known; }
  void begin(std::int64_t now, launch_effects& out);
  void have_them_reach(launch_effects& out);
  void judge(std::int64_t now, launch_effects& out);
  std::vector<failure> failures() const;
  void judge_start(std::int64_t now, const std::vector<failure>& all, launch_effects& out);
  void judge_later(std::int64_t now, const std::vector<failure>& all, launch_effects& out);
  void order(host_number host, agent_orders::survey content, launch_effects& out) const;
  bool is_needed(const failure& of) const;
  std::string name_of(host_number host) const;
  std::string text_of(const std::vector<failure>& all) const;

  launcher_state& state_;
  std::vector<host_state> hosts_;
  std::set<host_number> wanted_;  // by the start
  bool is_done_;
  std::uint32_t number_ = 0;               // of the latest survey
  std::map<host_number, member> members_;  // empty: none is under way
  survey_step step_ = survey_step::listen;
  std::int64_t begun_at_ = 0;
  std::int64_t second_try_at_ = 0;  // of the start
  // Pairs that were not reached in the survey before, and have to be.
  std::set<std::pair<host_number, host_number>> suspected_;
};

}  // namespace tidegate::policies::launching
