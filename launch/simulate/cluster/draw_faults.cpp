#include "launch/simulate/cluster/draw_faults.hpp"

#include <algorithm>

namespace tidegate::sim {

void draw_deaths(const scenario& of, draws& chance, cluster_plan& plan) {
  const auto deaths = draw(chance, of.deaths);
  auto shards_left = of.shard_deaths_max;
  for (std::uint32_t i = 0; i < deaths; ++i) {
    auto kind = pick(chance, of.mortal);
    while (kind == role::shard && shards_left == 0) kind = pick(chance, of.mortal);
    if (kind == role::shard) --shards_left;
    auto& death = plan.deaths.emplace_back();
    death = {.whose = kind,
             .pick = chance.next(),
             .when = chance.between<nanoseconds>(0, of.deaths_within),
             .cut_off_for = 0};
    if (i > 0 && of.together > 0 && chance.chance(of.together))
      death.when = plan.deaths[i - 1].when + chance.between<nanoseconds>(0, of.together_within);
    if (kind == role::shard && of.taken_for_dead > 0 && chance.chance(of.taken_for_dead))
      death.cut_off_for = chance.between<nanoseconds>(1, of.cut_off_max);
  }
}

// Connections that break while both sides live, of frames and of the control plane.
void draw_breaks(const scenario& of, draws& chance, cluster_plan& plan) {
  const auto breaks = draw(chance, of.breaks);
  for (std::uint32_t i = 0; i < breaks; ++i) {
    link_break fault{.pick = chance.next(),
                     .when = chance.between<nanoseconds>(0, of.deaths_within),
                     .lasts = chance.between<nanoseconds>(0, of.break_max),
                     .one_way = chance.chance(of.one_way)};
    if (of.silent_breaks > 0) fault.silent = chance.chance(of.silent_breaks);
    if (of.lasting_breaks > 0) fault.stays = chance.chance(of.lasting_breaks);
    if (of.same_link > 0 && i > 0 && chance.chance(of.same_link))
      fault.pick = plan.breaks.back().pick;
    plan.breaks.push_back(fault);
  }
  const auto control_breaks = draw(chance, of.control_breaks);
  for (std::uint32_t i = 0; i < control_breaks; ++i) {
    plan.control_breaks.push_back(
        {.pick = chance.next(),
         .when = chance.between<nanoseconds>(0, of.deaths_within),
         .lasts = chance.between<nanoseconds>(0, of.control_break_max),
         .one_hears_late = chance.chance(of.control_one_way)});
    plan.control_breaks.back().coordinator_late = chance.chance(0.5);
    if (of.lasting_control_breaks > 0)
      plan.control_breaks.back().stays = chance.chance(of.lasting_control_breaks);
  }
  if (of.unreachable_ms.low < of.unreachable_ms.high)
    plan.spec.supervision.unreachable_ms = draw(chance, of.unreachable_ms);
  else
    plan.spec.supervision.unreachable_ms = of.unreachable_ms.low;
}

// Writes that fail in the run folder.
void draw_failing_writes(const scenario& of, draws& chance, cluster_plan& plan) {
  plan.run_disk = of.run_disk;
  plan.fail_journal = of.fail_journal;
  if (of.full_disks.high == 0) return;
  const auto count = draw(chance, of.full_disks);
  for (std::uint32_t i = 0; i < count; ++i)
    plan.full_disks.push_back({.when = chance.between<nanoseconds>(0, of.deaths_within),
                               .lasts = chance.between<nanoseconds>(0, of.full_max),
                               .stays = chance.chance(of.full_stays)});
}

void draw_slowness(const scenario& of, std::uint64_t seed, cluster_plan& plan) {
  draws chance(runtime::mix64(seed ^ 0x736c6f77ULL));
  const auto takes = chance.between(300 * millisecond, 700 * millisecond);
  plan.scripts[0].compute_min = takes - takes / 50;
  plan.scripts[0].compute_max = takes + takes / 50;
  plan.set.report = 100 * millisecond;
  // With one payload on its way at a time, one slow link is the pace of all.
  plan.set.sends = {};
  constexpr std::uint64_t calm_clocks = 6;
  slow_plan slow{.kind = pick(chance, of.slow),
                 .pick = chance.next(),
                 .from = calm_clocks + chance.below(3)};
  // A stop that is long ends the process, as one that hangs.
  const bool stops = slow.kind == slow_kind::worker_stopped ||
                     slow.kind == slow_kind::shard_stopped ||
                     slow.kind == slow_kind::replica_stopped;
  slow.extra = stops ? chance.between(900 * millisecond, 1500 * millisecond)
                     : chance.between(takes / 2, 2 * takes);
  const bool is_of_replica =
      slow.kind == slow_kind::replica_link || slow.kind == slow_kind::replica_stopped;
  if (is_of_replica) {
    // Who overlaps its pushes waits for no replica that answers within the next clocks.
    const auto shorter = takes / 3;
    plan.scripts[0].compute_min = shorter - shorter / 50;
    plan.scripts[0].compute_max = shorter + shorter / 50;
    slow.from *= 2;
    if (!stops) slow.extra = chance.between(3 * shorter, 4 * shorter);
  }
  if (slow.kind == slow_kind::shard_disk) {
    // Some checkpoints that are due again before they are written.
    slow.clocks = 12;
    slow.extra = chance.between(4 * takes, 6 * takes);
  }
  slow.within = chance.between<nanoseconds>(takes / 2, takes);
  plan.slow = slow;
}

void draw_stalls(const scenario& of, draws& chance, cluster_plan& plan) {
  const auto stalls = draw(chance, of.stalls);
  for (std::uint32_t i = 0; i < stalls; ++i)
    plan.stalls.push_back({pick(chance, of.stalling), chance.next(),
                           chance.between<nanoseconds>(0, 300 * millisecond),
                           chance.between<nanoseconds>(1, of.stall_max)});
}

// From the beginning, and for ever; one way or both.
void draw_hosts_apart(const scenario& of, draws& chance, cluster_plan& plan) {
  const auto hosts = static_cast<std::uint32_t>(plan.spec.hosts.size());
  if (of.hosts_apart == 0 || hosts < 2 || !chance.chance(of.hosts_apart)) return;
  const auto from = chance.between<std::uint32_t>(0, hosts - 1);
  const auto to = (from + chance.between<std::uint32_t>(1, hosts - 1)) % hosts;
  plan.apart.emplace(from, to);
  if (chance.chance(0.5)) plan.apart.emplace(to, from);
  // What is lost may go to a host from which it does not reach what it needs.
  plan.may_fail |= !plan.host_faults.empty();
}

void draw_host_faults(const scenario& of, draws& chance, cluster_plan& plan) {
  if (of.host_faults.high == 0) return;
  plan.has_agents = true;
  const auto faults = draw(chance, of.host_faults);
  for (std::uint32_t i = 0; i < faults; ++i)
    plan.host_faults.push_back({.pick = chance.next(),
                                .when = chance.between<nanoseconds>(0, of.deaths_within),
                                .lasts = chance.between<nanoseconds>(0, of.host_fault_max),
                                .is_cut = chance.chance(of.cut_hosts)});
  draw_hosts_apart(of, chance, plan);
  if (of.small_hosts == 0) return;
  for (std::size_t host = 0; host < plan.spec.hosts.size(); ++host)
    plan.room.push_back(chance.chance(of.small_hosts)
                            ? std::optional(chance.between<std::uint32_t>(0, 2))
                            : std::nullopt);
}

}  // namespace tidegate::sim
