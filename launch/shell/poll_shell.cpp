#include "launch/shell/poll_shell.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::launch {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;

namespace {

using action = poll_step::action;

bool needs_coordinator(action kind) {
  return kind == action::poll || kind == action::ask || kind == action::fail_job ||
         kind == action::stop;
}

// Mistakes of a shell that makes no connection again.
bool forgets(action kind) {
  return is_planted(planted_bug::launcher_keeps_to_the_former_coordinator) ||
         (kind == action::poll && is_planted(planted_bug::poll_not_repeated_when_lost)) ||
         (kind == action::ask && is_planted(planted_bug::question_of_the_launcher_dropped));
}

}  // namespace

poll_step poll_shell::go(action kind) {
  poll_step step;
  step.kind = at_ = kind;
  return step;
}

poll_step poll_shell::begin(std::int64_t now) {
  connect_until_ = now + limits_.give_up_ns;
  return go(action::connect);
}

// A connection that is lost tells nothing of the coordinator: each step gets a second one.
poll_step poll_shell::next(std::int64_t now, const runtime::status& result,
                           policies::cluster_status status) {
  if (at_ == action::reconnect) return reconnected(now, result);
  const bool lost = result.code() == errc::unavailable && needs_coordinator(at_);
  if (lost && !repeats_ && !forgets(at_)) {
    lost_why_ = result;
    return go(action::reconnect);
  }
  repeats_ = false;
  return current_ = go_on(now, result, std::move(status));
}

poll_step poll_shell::reconnected(std::int64_t now, const runtime::status& result) {
  at_ = current_.kind;
  repeats_ = result.ok();
  if (!repeats_) current_ = go_on(now, lost_why_, {});
  return current_;
}

poll_step poll_shell::go_on(std::int64_t now, const runtime::status& result,
                            policies::cluster_status status) {
  switch (at_) {
    case action::connect:
      return connected(now, result);
    case action::poll:
      return polled(result, std::move(status));
    case action::ask:
      return answered(result);
    case action::rest:
      return news_.connected ? poll() : go(action::connect);
    case action::fail_job:
      // The launcher ends the processes itself where this does not.
      return result.ok() ? next_failure() : go(action::done);
    case action::stop:
      if (!result.ok()) news_.health = result;
      return go(action::done);
    case action::reconnect:
    case action::done:
      break;
  }
  TIDEGATE_ASSERT(false, "a conversation that is done takes no further step");
  return {};
}

poll_step poll_shell::connected(std::int64_t now, const runtime::status& result) {
  news_.health = result;
  if (result.ok()) {
    news_.connected = true;
    return poll();
  }
  news_.gave_up = now >= connect_until_;
  return news_.gave_up || finishing_ ? go(action::done) : rest();
}

poll_step poll_shell::poll() {
  asked_ = requests_;
  auto step = go(action::poll);
  step.events_seen = events_seen_;
  return step;
}

poll_step poll_shell::rest() {
  auto step = go(action::rest);
  step.pause_ns = limits_.interval_ns;
  return step;
}

bool poll_shell::ends_rest() const {
  return finishing_ || (news_.connected && (requests_ > news_.answered || has_new_question_));
}

poll_step poll_shell::polled(const runtime::status& result, policies::cluster_status status) {
  if (result.ok() && std::exchange(incarnation_, status.incarnation) != status.incarnation &&
      events_seen_ > 0) {
    events_seen_ = 0;
    return go(action::poll);  // with the events that the old number left out
  }
  news_.answered = asked_;
  news_.health = result;
  if (result.ok()) {
    events_seen_ += status.events.size();
    auto events = std::move(news_.status.events);  // those nobody has taken yet
    std::move(status.events.begin(), status.events.end(), std::back_inserter(events));
    news_.status = std::move(status);
    news_.status.events = std::move(events);
  }
  if (finishing_) {
    // A coordinator that has just not answered is not waited for again.
    return result.ok() ? next_failure() : go(action::done);
  }
  if (!result.ok() && is_planted(planted_bug::poll_not_repeated_when_lost))
    return go(action::done);
  has_new_question_ = false;
  round_.assign(questions_.rbegin(), questions_.rend());
  return next_question();
}

poll_step poll_shell::next_question() {
  if (round_.empty()) return rest();
  auto step = go(action::ask);
  step.question = round_.back();
  return step;
}

// A question that is not answered is asked again after the next poll.
poll_step poll_shell::answered(const runtime::status& result) {
  const auto number = round_.back();
  round_.pop_back();
  const bool again = result.code() == errc::unavailable || result.code() == errc::timed_out;
  const bool dropped = again && is_planted(planted_bug::question_of_the_launcher_dropped);
  if (!again) news_.answers.emplace_back(number, result);
  if (!again || dropped) std::erase(questions_, number);
  return next_question();
}

poll_step poll_shell::next_failure() {
  if (failures_.empty()) return go(action::stop);
  auto step = go(action::fail_job);
  std::tie(step.job, step.why) = std::move(failures_.front());
  failures_.erase(failures_.begin());
  return step;
}

std::uint64_t poll_shell::ask() {
  has_new_question_ = true;
  questions_.push_back(++last_question_);
  return last_question_;
}

bool poll_shell::is_open(std::uint64_t question) const {
  return std::find(questions_.begin(), questions_.end(), question) != questions_.end();
}

void poll_shell::finish(job_failures failures) {
  failures_ = std::move(failures);
  finishing_ = true;
}

poll_news poll_shell::take() {
  auto taken = news_;
  news_.status.events.clear();
  news_.answers.clear();
  return taken;
}

}  // namespace tidegate::launch
