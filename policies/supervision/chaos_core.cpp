#include "policies/supervision/chaos_core.hpp"

#include <algorithm>
#include <tuple>

#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {

namespace {

std::int64_t after(std::int64_t now, std::uint64_t ms) {
  return now + static_cast<std::int64_t>(ms) * millisecond;
}

bool comes_first(const chaos_target& a, const chaos_target& b) {
  const auto key = [](const chaos_target& t) {
    return std::tie(t.name.role, t.name.job, t.name.index, t.started, t.pid);
  };
  return key(a) < key(b);
}

// Sorted by name, so that the same draw means the same process however they were listed.
chaos_target pick_from(std::vector<chaos_target> some, std::uint64_t draw) {
  std::sort(some.begin(), some.end(), comes_first);
  return some[draw % some.size()];
}

}  // namespace

chaos_core::chaos_core(chaos_plan plan, std::int64_t now)
    : plan_(std::move(plan)), end_(plan_.for_ms == 0 ? never : after(now, plan_.for_ms)) {
  TIDEGATE_ASSERT(!plan_.actions.empty() && plan_.pause_first_ms <= plan_.pause_last_ms,
                  "the command line lets no other plan through");
  TIDEGATE_ASSERT(
      !plan_.hosts.empty() ||
          std::none_of(plan_.actions.begin(), plan_.actions.end(),
                       [](const chaos_choice& choice) { return choice.hits_host(); }),
      "likewise");
  draw(now);
}

void chaos_core::draw(std::int64_t now) {
  runtime::rng random(runtime::mix64(runtime::stream_key(plan_.seed, "chaos") ^ step_));
  ++step_;
  next_hit_ = after(
      now, plan_.pause_first_ms + random.below(plan_.pause_last_ms - plan_.pause_first_ms + 1));
  choice_ = plan_.actions[random.below(plan_.actions.size())];
  pick_ = random.next();
}

std::int64_t chaos_core::next_wake() const noexcept {
  auto when = over_ ? never : std::min(next_hit_, end_);
  for (const auto& stopped : stopped_) when = std::min(when, stopped.until);
  return when;
}

void chaos_core::wake(std::int64_t now, std::span<const chaos_target> living,
                      std::vector<chaos_order>& out) {
  const auto gone = [&](const chaos_target& target) {
    return std::find(living.begin(), living.end(), target) == living.end();
  };
  std::erase_if(killed_, gone);
  std::erase_if(stopped_, [&](const stopped_one& stopped) { return gone(stopped.target); });
  let_go_on(now, out);
  over_ = over_ || now >= end_;
  if (over_ || now < next_hit_) return;
  if (!choice_.hits_process()) {
    const auto& hosts = plan_.hosts;
    out.push_back({choice_, {}, choice_.hits_host() ? hosts[pick_ % hosts.size()] : ""});
    return count_hit(now);
  }
  std::vector<chaos_target> some;
  std::copy_if(living.begin(), living.end(), std::back_inserter(some),
               [this](const auto& entry) { return may_hit(entry); });
  if (some.empty()) {
    next_hit_ = now + look_again_ns;
    return;
  }
  strike(now, pick_from(std::move(some), pick_), choice_, out);
  count_hit(now);
}

void chaos_core::let_go_on(std::int64_t now, std::vector<chaos_order>& out) {
  for (const auto& stopped : stopped_)
    if (stopped.until <= now) out.push_back({{chaos_act::go_on}, stopped.target, ""});
  std::erase_if(stopped_, [now](const stopped_one& paused) { return paused.until <= now; });
}

bool chaos_core::is_stopped(const chaos_target& target) const {
  return std::any_of(stopped_.begin(), stopped_.end(),
                     [&](const stopped_one& s) { return s.target == target; });
}

bool chaos_core::is_dying(const chaos_target& target) const {
  return std::find(killed_.begin(), killed_.end(), target) != killed_.end();
}

bool chaos_core::may_hit(const chaos_target& target) const {
  const auto& roles = plan_.roles;
  return std::find(roles.begin(), roles.end(), target.name.role) != roles.end() &&
         !is_dying(target) && (choice_.act == chaos_act::kill || !is_stopped(target));
}

void chaos_core::strike(std::int64_t now, const chaos_target& target,
                        const chaos_choice& choice, std::vector<chaos_order>& out) {
  if (choice.act == chaos_act::kill) {
    std::erase_if(stopped_, [&](const stopped_one& s) { return s.target == target; });
    killed_.push_back(target);
  } else {
    stopped_.push_back({target, after(now, choice.for_ms)});
  }
  out.push_back({choice, target, ""});
}

void chaos_core::count_hit(std::int64_t now) {
  ++hits_;
  over_ = plan_.hits_max != 0 && hits_ >= plan_.hits_max;
  draw(now);
}

void chaos_core::missed(const chaos_target& target) {
  TIDEGATE_ASSERT(hits_ > 0, "what was missed was ordered");
  --hits_;
  std::erase_if(stopped_, [&](const stopped_one& s) { return s.target == target; });
  if (plan_.hits_max != 0) over_ = false;
}

void chaos_core::end(std::vector<chaos_order>& out) {
  over_ = true;
  let_go_on(never, out);
}

std::optional<chaos_target> choose_target(std::span<const chaos_target> living,
                                          process_role role, std::uint64_t seed) {
  std::vector<chaos_target> some;
  std::copy_if(living.begin(), living.end(), std::back_inserter(some),
               [role](const auto& entry) { return entry.name.role == role; });
  if (some.empty()) return std::nullopt;
  return pick_from(std::move(some), runtime::mix64(runtime::stream_key(seed, "chaos")));
}

}  // namespace tidegate::policies
