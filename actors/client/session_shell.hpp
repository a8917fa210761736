// A session's operations besides pushing and pulling, those of policies::session_core: it asks
// each question again while the coordinator is away, and describes the wait.
//
// An operation returns its first turn; the adapter carries it out, tells how it went with
// next(), or that the rest is over with rested(), and gets the following one, until
// `step.kind` is `done`. An adapter may block (a program's thread) or be called back (the
// simulator); it decides nothing. One operation at a time, one thread. Time is an argument:
// nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/supervision/retry_backoff.hpp"
#include "policies/worker/session_core.hpp"

namespace tidegate::actors {

struct session_turn {
  policies::session_step step;
  std::string doing;  // of a question to the coordinator, for the log and for errors
  // Nothing is done but to rest for so many nanoseconds; `step` comes again after it.
  std::optional<std::int64_t> rest_ns;
};

struct session_limits {
  std::uint32_t give_up_ms = 30'000;              // for a coordinator that is away
  std::int64_t report_interval_ns = 100'000'000;  // between two reports of progress
};

class session_shell {
 public:
  explicit session_shell(const session_limits& limits) : limits_(limits) {}

  session_turn join(std::int64_t now, const policies::worker_hello& hello);
  session_turn open(std::int64_t now, const policies::table_request& request);
  session_turn before_moving(std::int64_t now);
  session_turn end_clocks(std::int64_t now);
  session_turn finish(std::int64_t now);
  // The program says why it cannot go on.
  session_turn fail(std::int64_t now, const runtime::status& why);
  session_turn tell_metric(std::int64_t now, const std::string& name, double value);
  // The session goes away: a job that it neither finished nor failed hears of it.
  session_turn leave(std::int64_t now);

  session_turn next(std::int64_t now, runtime::status result,
                    policies::session_answer answer = {});
  session_turn rested(std::int64_t now);

  // No coordinator comes back any more: each question is asked once.
  void give_up_coordinator() noexcept { limits_.give_up_ms = 0; }
  // Returns whether the coordinator is to hear of the progress now; if so, the report counts as
  // sent.
  bool report_is_due(std::int64_t now, bool even_if_recent);

  policies::session_core& core() noexcept { return core_; }
  const policies::session_core& core() const noexcept { return core_; }
  static std::string text_of_failure(std::uint32_t rank, const runtime::status& why);

 private:
  session_turn turn(std::int64_t now, policies::session_step step);

  session_limits limits_;
  policies::session_core core_;
  policies::session_step asking_;  // the question under way
  policies::retry_backoff backoff_{0, 0};
  std::optional<std::int64_t> reported_at_;
};

// Returns whether a step of this kind asks the coordinator something.
bool is_question(policies::session_step::action kind) noexcept;

}  // namespace tidegate::actors
