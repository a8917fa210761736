// What the ends of processes mean: a worker that is done, a warning, a job that has failed, or
// a death, which its job goes on without or which the process comes back from. An end is judged
// when the coordinator has said enough about it, or has had its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/model/process_name.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

// How long the failure of a job waits for the news of a death that explains it.
inline constexpr std::int64_t failure_settle = 150 * millisecond;

struct exit_report {
  process_number process = 0;
  process_exit exit;
  std::int64_t at = 0;     // when it ended
  std::uint64_t poll = 0;  // number of the poll whose answer says what the job knows of the end
};

class exit_judge {
 public:
  explicit exit_judge(launcher_state& state) : state_(state) {}

  // launch_core::ended(), left().
  void ended(std::int64_t now, process_number process, process_exit exit);
  void left(std::int64_t now, process_number process, const runtime::status& result,
            launch_effects& out);
  // Judges all ends of which enough is known.
  void judge(std::int64_t now, launch_effects& out);
  // Forget ends that have not been judged, because everything ends, or this job does.
  void forget() { unjudged_.clear(); }
  void forget(const std::string& job);

  bool all_judged() const { return unjudged_.empty(); }
  bool is_judged(process_number process) const;
  std::int64_t next_wake() const;

 private:
  enum class verdict : std::uint8_t {
    as_expected,    // a worker that is done
    after_its_job,  // it ended badly, but its job was done by then: a warning
    job_failed,     // the worker said so itself, then ended
    process_died,   // nobody expected it
  };

  std::int64_t ripe_at(const exit_report& end) const;
  verdict verdict_on(const exit_report& end) const;
  void judge_deaths(const std::vector<exit_report>& ripe, std::int64_t now,
                    launch_effects& out);
  bool others_go_on(process_number process) const;
  void shrink_job(const exit_report& end, launch_effects& out);

  launcher_state& state_;
  std::vector<exit_report> unjudged_;
};

}  // namespace tidegate::policies::launching
