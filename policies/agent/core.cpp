#include "policies/agent/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Between two attempts to connect; the first and the longest pause.
constexpr std::int64_t pause_min = 20 * millisecond;
constexpr std::int64_t pause_max = 1000 * millisecond;

}  // namespace

template <class Content>
void agent_core::send(std::int64_t now, Content content, agent_effects& out) {
  sent_at_ = now;
  out.all.emplace_back(
      agent_effects::send{{.taken = orders_.taken(), .content = std::move(content)}});
}

void agent_core::begin(std::int64_t now, agent_effects& out) {
  heard_at_ = now;
  try_to_connect(now, out);
}

void agent_core::try_to_connect(std::int64_t now, agent_effects& out) {
  connect_at_ = never;
  pause_ = std::clamp(2 * pause_, pause_min,
                      std::max(pause_min, std::min(pause_max, sign_interval())));
  is_connecting_ = true;
  joined_at_ = now;
  out.all.emplace_back(agent_effects::connect{});
}

void agent_core::connected(std::int64_t now, agent_effects& out) {
  is_connecting_ = false;
  is_connected_ = true;
  is_welcome_ = false;
  joined_at_ = now;
  say_hello(now, out);
}

void agent_core::say_hello(std::int64_t now, agent_effects& out) {
  send(now,
       agent_frame::hello{
           .agent = options_.agent, .start = options_.start, .launcher = launcher_},
       out);
}

void agent_core::not_connected(std::int64_t now, agent_effects&) {
  is_connecting_ = false;
  connect_at_ = now + pause_;
}

void agent_core::disconnected(std::int64_t now, agent_effects&) {
  is_connected_ = is_welcome_ = false;
  connect_at_ = now + std::max(pause_, pause_min);
}

void agent_core::heard(std::int64_t now, const launcher_frame& frame, agent_effects& out) {
  if (!is_connected_ || phase_ == phase::over) return;
  if (const auto* by = std::get_if<launcher_frame::welcome>(&frame.content))
    return welcomed(now, *by, frame.taken, out);
  if (std::holds_alternative<launcher_frame::dismissal>(frame.content))
    return leave("the launcher has started another agent of this host", out);
  if (!is_welcome_) return;  // of nobody that it follows
  heard_at_ = now;
  reports_.taken(frame.taken);
  if (const auto* order = std::get_if<launcher_frame::order>(&frame.content))
    ordered(now, *order, out);
}

void agent_core::welcomed(std::int64_t now, const launcher_frame::welcome& by,
                          std::uint64_t taken, agent_effects& out) {
  pause_ = 0;
  if (phase_ == phase::leaving) return;
  heard_at_ = now;
  if (by.launcher == launcher_ && phase_ == phase::open) {
    is_welcome_ = true;
    reports_.taken(taken);
    if (is_planted(planted_bug::agent_forgets_reports_when_cut_off)) reports_.clear();
    reports_.visit([&](std::uint64_t number, const agent_report& content) {
      TIDEGATE_RARE("agent: a report is sent again");
      send(now, agent_frame::report{.number = number, .content = content}, out);
    });
    return;
  }
  next_ = by.launcher;
  if (phase_ == phase::clearing) return;
  if (launcher_ != 0) TIDEGATE_RARE("agent: another launcher is followed");
  phase_ = phase::clearing;
  out.all.emplace_back(agent_effects::end_all{});
}

void agent_core::ordered(std::int64_t now, const launcher_frame::order& order,
                         agent_effects& out) {
  if (phase_ != phase::open) return;
  if (orders_.is_gap(order.number)) {  // no launcher leaves any: it is another's
    out.all.emplace_back(agent_effects::disconnect{});
    return disconnected(now, out);
  }
  if (!orders_.take(order.number)) return;
  if (std::holds_alternative<agent_orders::leave>(order.content)) return leave("", out);
  out.all.emplace_back(agent_effects::carry_out{order.content});
}

void agent_core::report(std::int64_t now, agent_report content, agent_effects& out) {
  if (phase_ != phase::open) return;
  const auto number = reports_.add(content);
  if (is_following())
    send(now, agent_frame::report{.number = number, .content = std::move(content)}, out);
}

void agent_core::all_ended(std::int64_t now, agent_effects& out) {
  if (phase_ == phase::leaving) {
    phase_ = phase::over;
    out.all.emplace_back(agent_effects::quit{why_});
    return;
  }
  if (phase_ != phase::clearing) return;
  phase_ = phase::open;
  launcher_ = next_;
  reports_.clear();
  orders_.clear();
  if (is_connected_) say_hello(now, out);
}

void agent_core::closed(std::int64_t, const std::string& why, agent_effects& out) {
  leave(why, out);
}

void agent_core::leave(std::string why, agent_effects& out) {
  if (phase_ == phase::leaving || phase_ == phase::over) return;
  const bool asks = phase_ == phase::open;  // else it has asked
  phase_ = phase::leaving;
  why_ = std::move(why);
  if (asks) out.all.emplace_back(agent_effects::end_all{});
}

void agent_core::tick(std::int64_t now, agent_effects& out) {
  if (phase_ == phase::over || options_.unreachable_ns == 0) return;
  if (now >= heard_at_ + options_.unreachable_ns && phase_ != phase::leaving &&
      !is_planted(planted_bug::agent_outlives_its_launcher)) {
    TIDEGATE_RARE("agent: the launcher is out of reach for too long");
    leave("no word from the launcher for " +
              std::to_string(options_.unreachable_ns / millisecond) +
              " ms (supervision.unreachable)",
          out);
  }
  // A connection over which nothing comes has broken.
  if (is_connected_ && now >= std::max(heard_at_, joined_at_) + options_.unreachable_ns / 2) {
    out.all.emplace_back(agent_effects::disconnect{});
    disconnected(now, out);
  }
  if (!is_connected_ && !is_connecting_ && now >= connect_at_ && phase_ != phase::leaving)
    try_to_connect(now, out);
  if (is_following() && now >= sent_at_ + sign_interval()) send(now, agent_frame::sign{}, out);
}

std::int64_t agent_core::next_wake() const {
  if (phase_ == phase::over || phase_ == phase::leaving || options_.unreachable_ns == 0)
    return never;
  auto wake = heard_at_ + options_.unreachable_ns;
  if (is_connected_)
    wake = std::min(wake, std::max(heard_at_, joined_at_) + options_.unreachable_ns / 2);
  else if (!is_connecting_)
    wake = std::min(wake, connect_at_);
  if (is_following()) wake = std::min(wake, sent_at_ + sign_interval());
  return wake;
}

}  // namespace tidegate::policies
