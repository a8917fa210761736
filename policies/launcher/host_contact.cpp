#include "policies/launcher/host_contact.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Before an agent that has ended is started again; the first and the longest pause.
constexpr std::int64_t pause_min = 100 * millisecond;
constexpr std::int64_t pause_max = 5000 * millisecond;
constexpr std::uint64_t reports_untold_max = 4;

}  // namespace

template <class Content>
void host_contact::send(std::int64_t now, Content content, host_effects& out) {
  sent_at_ = now;
  told_taken_ = reports_.taken();
  out.all.emplace_back(host_effects::send{
      connection_, {.taken = reports_.taken(), .content = std::move(content)}});
}

void host_contact::begin(std::int64_t now, host_effects& out) {
  start_ = options_.launcher;
  heard_at_ = now;
  if (options_.starts_agent) start_agent(now, out);
}

void host_contact::start_agent(std::int64_t now, host_effects& out) {
  start_at_ = never;
  has_agent_ = true;
  heard_at_ = now;
  pause_ = std::clamp(2 * pause_, pause_min, pause_max);
  out.all.emplace_back(host_effects::start_agent{.host = host_, .start = ++start_});
}

bool host_contact::admits(agent_connection over, const agent_frame::hello& hello,
                          host_effects& out) const {
  if (options_.starts_agent) {
    if ((has_agent_ && hello.start == start_) ||
        is_planted(planted_bug::agent_of_another_start_admitted))
      return true;
    TIDEGATE_RARE("launcher: an agent of another start is dismissed");
    out.all.emplace_back(host_effects::send{over, {.content = launcher_frame::dismissal{}}});
    return false;
  }
  if (connection_ == 0 || connection_ == over || hello.agent == agent_) return true;
  out.all.emplace_back(host_effects::close{over});  // it may come again
  return false;
}

void host_contact::greeted(std::int64_t now, agent_connection over,
                           const agent_frame::hello& hello, std::uint64_t taken,
                           host_effects& out) {
  if (!admits(over, hello, out)) return;
  if (phase_ == phase::up && (hello.launcher != options_.launcher || hello.agent != agent_))
    go_down("another agent has taken the place of its agent", out);
  const bool follows = hello.launcher == options_.launcher;
  if (connection_ != 0 && connection_ != over)
    out.all.emplace_back(host_effects::close{connection_});
  connection_ = over;
  heard_at_ = now;
  if (follows) orders_.taken(taken);
  send(now, launcher_frame::welcome{options_.launcher}, out);
  if (!follows) return;  // it clears the host, and says hello again
  agent_ = hello.agent;
  if (phase_ != phase::up) come_up(out);
  if (is_planted(planted_bug::orders_not_sent_again)) return;
  orders_.visit([&](std::uint64_t number, const agent_order& content) {
    send(now, launcher_frame::order{.number = number, .content = content}, out);
  });
}

void host_contact::come_up(host_effects& out) {
  phase_ = phase::up;
  pause_ = 0;
  out.all.emplace_back(host_effects::up{host_});
}

void host_contact::heard(std::int64_t now, agent_connection over, const agent_frame& frame,
                         host_effects& out) {
  if (over != connection_ || phase_ != phase::up) return;
  heard_at_ = now;
  orders_.taken(frame.taken);
  const auto* report = std::get_if<agent_frame::report>(&frame.content);
  if (report == nullptr) return;
  if (reports_.is_gap(report->number)) {  // no agent leaves any
    out.all.emplace_back(host_effects::close{connection_});
    connection_ = 0;
    return;
  }
  if (!reports_.take(report->number)) return;
  out.all.emplace_back(host_effects::reported{host_, report->content});
  // An agent with much to report waits to hear of it.
  if (reports_.taken() >= told_taken_ + reports_untold_max)
    send(now, launcher_frame::sign{}, out);
}

void host_contact::disconnected(agent_connection connection) {
  if (connection_ == connection) connection_ = 0;
}

void host_contact::copies(std::int64_t now) noexcept {
  if (!is_up()) heard_at_ = now;
}

// Whoever follows it from now on has to have cleared the host.
void host_contact::go_down(const std::string& why, host_effects& out) {
  if (connection_ != 0) out.all.emplace_back(host_effects::close{connection_});
  connection_ = 0;
  phase_ = phase::away;
  agent_ = 0;
  if (!is_planted(planted_bug::host_used_again_uncleared)) ++options_.launcher;
  orders_.clear();
  reports_.clear();
  told_taken_ = 0;
  if (!is_planted(planted_bug::host_lost_without_its_processes))
    out.all.emplace_back(host_effects::down{host_, about(why)});
}

void host_contact::agent_ended(std::int64_t now, const std::string& why, host_effects& out) {
  TIDEGATE_ASSERT(options_.starts_agent, "nobody tells of the ends of others' agents");
  has_agent_ = false;
  if (is_leaving_) return;
  if (phase_ == phase::away)
    out.all.emplace_back(host_effects::stays_down{host_, about(why)});
  else
    go_down(why, out);
  start_at_ = now + std::max(pause_, pause_min);
}

void host_contact::order(std::int64_t now, agent_order content, host_effects& out) {
  TIDEGATE_ASSERT(may_order(), "a host that is away takes no orders");
  const auto number = orders_.add(content);
  if (is_up() && connection_ != 0)
    send(now, launcher_frame::order{.number = number, .content = std::move(content)}, out);
}

void host_contact::leave(std::int64_t now, host_effects& out) {
  if (std::exchange(is_leaving_, true)) return;
  start_at_ = never;
  if (may_order()) order(now, agent_orders::leave{}, out);
  if (options_.unreachable_ns > 0) end_at_ = now + options_.unreachable_ns;
  // An agent whose connection has broken comes back for the order: ended by force it would
  // leave its folder behind.
  const bool comes_back = options_.unreachable_ns > 0 || connection_ != 0;
  if (!is_up() || !comes_back) end_by_force(out);
}

void host_contact::end_by_force(host_effects& out) {
  if (has_agent_) out.all.emplace_back(host_effects::end_agent{host_});
}

void host_contact::tick(std::int64_t now, host_effects& out) {
  if (now >= start_at_) start_agent(now, out);
  if (is_leaving_) {
    if (now < end_at_) return;
    end_at_ = never;
    return end_by_force(out);
  }
  if (options_.unreachable_ns == 0) return;
  if (is_up() && now >= heard_at_ + options_.unreachable_ns) {
    TIDEGATE_RARE("launcher: a host is out of reach for too long");
    go_down("no word from its agent for " +
                std::to_string(options_.unreachable_ns / millisecond) +
                " ms (supervision.unreachable)",
            out);
    heard_at_ = now - options_.start_ns;  // what has started the agent is ended now
  }
  if (is_up() || now < heard_at_ + options_.start_ns) return sign(now, out);
  if (phase_ == phase::starting)
    go_down("its agent has not reported within " +
                std::to_string(options_.start_ns / millisecond) + " ms (cluster.start_timeout)",
            out);
  heard_at_ = now;
  end_by_force(out);
}

void host_contact::sign(std::int64_t now, host_effects& out) {
  if (is_up() && connection_ != 0 && now >= sent_at_ + sign_interval())
    send(now, launcher_frame::sign{}, out);
}

std::int64_t host_contact::next_wake() const {
  auto wake = start_at_;
  if (is_leaving_) return has_agent_ ? end_at_ : never;
  if (options_.unreachable_ns == 0) return wake;
  if (!is_up())
    return phase_ == phase::starting || has_agent_
               ? std::min(wake, heard_at_ + options_.start_ns)
               : wake;
  wake = std::min(wake, heard_at_ + options_.unreachable_ns);
  if (connection_ != 0) wake = std::min(wake, sent_at_ + sign_interval());
  return wake;
}

}  // namespace tidegate::policies
