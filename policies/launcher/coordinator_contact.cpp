#include "policies/launcher/coordinator_contact.hpp"

#include <utility>

#include "policies/launcher/state.hpp"

namespace tidegate::policies::launching {

void coordinator_contact::begin_polls(launch_effects& out) {
  polling_ = true;
  out.all.emplace_back(launch_effects::watch{});
}

void coordinator_contact::polled(std::int64_t now, const coordinator_news& news,
                                 launch_effects& out) {
  if (!polling_) return;  // of an epoch that is over
  answered_ = news.answered;
  state_.jobs.learn(news.jobs);
  if (away_ && news.health.ok() && news.incarnation >= state_.processes.incarnation(0)) {
    away_ = false;
    is_back_ = true;
  }
  if (state_.lifecycle.is_active() && healthy_ && !news.health.ok())
    out.all.emplace_back(launch_effects::note{"coordinator_silent", news.health.to_string()});
  healthy_ = news.health.ok();
  for (const auto& sentence : news.condemned) state_.processes.condemned(sentence, out);
  if (!news.lost.empty() && state_.lifecycle.is_active())
    state_.restarts.shard_lost(now, news.lost, out);
}

void coordinator_contact::unreachable(std::int64_t now, const runtime::status& why,
                                      launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  state_.lifecycle.end(now, run_outcome::job_failed,
                       "cannot reach the coordinator: " + why.to_string(), out);
}

void coordinator_contact::ended(process_number process) {
  poll_wanted_ = polling_;
  away_ = away_ || (process == 0 && polling_);
}

void coordinator_contact::poll_if_wanted(launch_effects& out) {
  if (poll_wanted_ && state_.lifecycle.is_active()) {
    ++polls_;
    out.all.emplace_back(launch_effects::poll_now{});
  }
  poll_wanted_ = false;
}

bool coordinator_contact::take_return() {
  return std::exchange(is_back_, false);
}

void coordinator_contact::stop_polls() {
  polling_ = poll_wanted_ = healthy_ = away_ = is_back_ = false;
}

void coordinator_contact::begin_anew() {
  polls_ = answered_ = 0;
  healthy_ = true;
}

}  // namespace tidegate::policies::launching
