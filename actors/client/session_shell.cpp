#include "actors/client/session_shell.hpp"

#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using policies::session_step;
using step_kind = policies::session_step::action;

bool is_question(step_kind kind) noexcept {
  return kind == step_kind::ask_welcome || kind == step_kind::ask_grant ||
         kind == step_kind::tell_opened || kind == step_kind::tell_finished ||
         kind == step_kind::tell_failed || kind == step_kind::tell_metric;
}

namespace {

std::string describe(const session_step& step, const policies::worker_hello& hello) {
  switch (step.kind) {
    case step_kind::ask_welcome:
      return "joining job " + hello.job + " as rank " + std::to_string(hello.rank);
    case step_kind::ask_grant:
      return "opening table '" + step.request.spec.name + "'";
    case step_kind::tell_opened:
      return "telling the coordinator which tables are open";
    case step_kind::tell_finished:
      return "telling the coordinator that this worker has finished";
    case step_kind::tell_failed:
      return "telling the coordinator of a failure";
    case step_kind::tell_metric:
      return "reporting metric " + step.why;
    default:
      return {};
  }
}

}  // namespace

session_turn session_shell::turn(std::int64_t now, session_step step) {
  session_turn next{.step = std::move(step), .doing = {}, .rest_ns = {}};
  if (!is_question(next.step.kind)) return next;
  next.doing = describe(next.step, core_.hello());
  asking_ = next.step;
  backoff_ = policies::retry_backoff(now, limits_.give_up_ms);
  return next;
}

session_turn session_shell::join(std::int64_t now, const policies::worker_hello& hello) {
  return turn(now, core_.join(hello));
}

session_turn session_shell::open(std::int64_t now, const policies::table_request& request) {
  return turn(now, core_.open(request));
}

session_turn session_shell::before_moving(std::int64_t now) {
  return turn(now, core_.before_moving());
}

session_turn session_shell::end_clocks(std::int64_t now) {
  return turn(now, core_.end_clocks());
}

session_turn session_shell::finish(std::int64_t now) {
  return turn(now, core_.finish());
}

std::string session_shell::text_of_failure(std::uint32_t rank, const runtime::status& why) {
  return "worker " + std::to_string(rank) + ": " + why.message();
}

session_turn session_shell::fail(std::int64_t now, const runtime::status& why) {
  return turn(now, core_.fail(text_of_failure(core_.hello().rank, why)));
}

session_turn session_shell::tell_metric(std::int64_t now, const std::string& name,
                                        double value) {
  return turn(now, core_.tell_metric(name, value));
}

session_turn session_shell::leave(std::int64_t now) {
  return turn(now, core_.leave());
}

// A coordinator that has died comes back, and knows by its journal what it had answered.
session_turn session_shell::next(std::int64_t now, runtime::status result,
                                 policies::session_answer answer) {
  if (is_question(asking_.kind)) {
    const bool once = runtime::is_planted(runtime::planted_bug::question_not_asked_again) &&
                      asking_.kind == step_kind::tell_finished;
    if (const auto pause = backoff_.after(now, result); pause && !once)
      return {.step = asking_, .doing = {}, .rest_ns = pause};
    asking_ = {};
  }
  return turn(now, core_.next(std::move(result), std::move(answer)));
}

session_turn session_shell::rested(std::int64_t /*now*/) {
  TIDEGATE_ASSERT(is_question(asking_.kind), "a rest is followed by a question");
  return {.step = asking_, .doing = describe(asking_, core_.hello()), .rest_ns = {}};
}

bool session_shell::report_is_due(std::int64_t now, bool even_if_recent) {
  if (!even_if_recent && reported_at_ && now - *reported_at_ < limits_.report_interval_ns)
    return false;
  reported_at_ = now;
  return true;
}

}  // namespace tidegate::actors
