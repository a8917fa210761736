#include "policies/worker/session_core.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using action = session_step::action;
using runtime::errc;
using runtime::status;

session_step session_core::begin(doing operation, action first) {
  TIDEGATE_ASSERT(doing_ == doing::nothing, "a session does one thing at a time");
  doing_ = operation;
  at_ = first;
  session_step step;
  step.kind = first;
  return step;
}

session_step session_core::end(status result) {
  doing_ = doing::nothing;
  at_ = action::done;
  session_step step;
  step.result = std::move(result);
  return step;
}

session_step session_core::join(const worker_hello& hello) {
  hello_ = hello;
  return begin(doing::joining, action::ask_welcome);
}

session_step session_core::open(const table_request& request) {
  if (ended_ || declared_)
    return end({errc::out_of_order,
                "table '" + request.spec.name +
                    "' must be opened before the first push() or clock() of the worker"});
  auto step = begin(doing::opening, action::ask_grant);
  step.request = request;
  return step;
}

session_step session_core::before_moving() {
  if (declared_) return end({});
  if (welcome_.first_clock > 0 && !knows_clock_) {
    why_ = "this worker was started again and goes on at clock " +
           std::to_string(welcome_.first_clock) +
           ", but the program has not asked for it: begin at session.now(), or where the state "
           "that it keeps says, or choose "
           "`on_worker_loss: fail` for this job";
    return end({errc::out_of_order, why_});
  }
  auto step = begin(doing::declaring, action::tell_opened);
  for (const auto& [id, grant] : tables_) step.tables.push_back(id);
  return step;
}

session_step session_core::end_clocks() {
  if (clocks_ended_) return end({});
  return begin(doing::ending_clocks, action::farewell);
}

session_step session_core::finish() {
  return begin(doing::finishing, clocks_ended_ ? action::tell_finished : action::farewell);
}

session_step session_core::fail(const std::string& why) {
  ended_ = true;
  auto step = begin(doing::failing, action::tell_failed);
  step.why = why;
  return step;
}

session_step session_core::tell_metric(const std::string& name, double value) {
  auto step = begin(doing::measuring, action::tell_metric);
  step.why = name;
  step.value = value;
  return step;
}

session_step session_core::leave() {
  if (ended_ || !joined_) return end({});
  return fail("worker " + std::to_string(hello_.rank) +
              (why_.empty() ? " left before finish()" : ": " + why_));
}

const table_grant* session_core::table(std::uint32_t id) const {
  const auto at = tables_.find(id);
  return at == tables_.end() ? nullptr : &at->second;
}

session_step session_core::next(status result, session_answer answer) {
  TIDEGATE_ASSERT(doing_ != doing::nothing, "a step was being carried out");
  if (!result.ok()) return end(std::move(result));
  switch (doing_) {
    case doing::joining:
      return after_join(answer);
    case doing::opening:
      return after_open(answer);
    case doing::declaring:
      declared_ = true;
      return end({});
    case doing::ending_clocks:
      clocks_ended_ = true;
      return end({});
    case doing::finishing:
      return after_finish(answer);
    case doing::failing:
    case doing::measuring:
    case doing::nothing:
      break;
  }
  return end({});
}

session_step session_core::after_join(session_answer& answer) {
  welcome_ = std::get<worker_welcome>(std::move(answer));
  joined_ = true;
  return end({});
}

session_step session_core::after_open(session_answer& answer) {
  if (at_ == action::attach) {
    auto step = end({});
    step.grant = grant_;
    tables_[grant_.table] = std::move(grant_);
    return step;
  }
  grant_ = std::get<table_grant>(std::move(answer));
  session_step step;
  step.kind = at_ = action::attach;
  step.grant = grant_;
  return step;
}

// One of the job hashes all tables in the order of their names, and opens those that it has
// not. Which one the coordinator says: mostly rank 0.
session_step session_core::after_finish(session_answer& answer) {
  session_step step;
  switch (at_) {
    case action::farewell:
      step.kind = at_ = action::tell_finished;
      return step;
    case action::tell_finished:
      if (auto* all = std::get_if<std::vector<table_grant>>(&answer);
          all && !all->empty() && !hashes_) {
        hashes_ = true;
        hashing_ = std::move(*all);
        std::reverse(hashing_.begin(), hashing_.end());
        return next_table();
      }
      ended_ = true;
      return end({});
    case action::attach:
      at_ = action::pull_to_end;
      break;
    case action::pull_to_end:
      at_ = action::hash;
      break;
    case action::hash:
      hashing_.pop_back();
      return next_table();
    default:
      TIDEGATE_ASSERT(false, "a step of finish()");
  }
  step.kind = at_;
  step.grant = hashing_.back();
  return step;
}

session_step session_core::next_table() {
  session_step step;
  if (hashing_.empty()) {
    step.kind = at_ = action::tell_finished;
    step.hashed = true;
    return step;
  }
  step.grant = hashing_.back();
  step.kind = at_ = table(step.grant.table) == nullptr ? action::attach : action::pull_to_end;
  return step;
}

}  // namespace tidegate::policies
