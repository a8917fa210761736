#include "launch/simulate/cluster/draw_plan.hpp"

#include <algorithm>
#include <cmath>

#include "launch/simulate/cluster/draw_faults.hpp"
#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/plugin_rules.hpp"
#include "launch/simulate/cluster/row_ids.hpp"
#include "policies/model/option_rules.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

namespace {

constexpr std::uint64_t small_chunk_bytes = runtime::limits::chunk_bytes_min;

// From 1 to `most`: its logarithm is uniform.
std::uint64_t draw_size(draws& chance, std::uint64_t most) {
  constexpr auto steps = std::uint64_t{1} << 32U;
  const auto share = static_cast<double>(chance.below(steps + 1)) / static_cast<double>(steps);
  const auto size = std::pow(static_cast<double>(most), share);
  return std::clamp(static_cast<std::uint64_t>(std::llround(size)), std::uint64_t{1}, most);
}

// Those whose steps always change something, by which checkers know versions.
policies::optimizer_spec draw_optimizer(draws& chance) {
  constexpr std::uint64_t kinds = 7;
  return policies::default_optimizer(
      static_cast<policies::optimizer_kind>(chance.below(kinds)));
}

// Draws of its own: what else a seed draws stays what it was.
void draw_schedule(std::uint64_t seed, policies::optimizer_spec& optimizer) {
  using kind = runtime::schedule_kind;
  if (!runtime::contains(runtime::traits_of(optimizer.kind).options,
                         runtime::optimizer_option::schedule))
    return;
  draws chance(seed);
  if (chance.chance(0.3)) optimizer.clip_value = 0.5F;
  if (chance.chance(0.4)) return;
  auto& schedule = optimizer.schedule;
  schedule = policies::default_schedule(runtime::schedules_known[static_cast<std::size_t>(
      chance.below(std::size(runtime::schedules_known)))]);
  schedule.warmup = chance.between<std::uint32_t>(0, 4);
  if (schedule.kind == kind::constant) return;
  schedule.clocks = chance.between<std::uint32_t>(1, 8);
  // Checkers know versions by what is in them: every step must change something.
  schedule.factor = schedule.kind == kind::step ? 0.9F : 0.25F;
}

// Some are always clipped, and some never.
void draw_clip(const scenario& of, policies::job_spec& job) {
  draws chance(job.seed + 17);
  constexpr float norms[] = {0.25F, 4.0F, 64.0F};
  if (chance.chance(of.clips))
    job.clip_norm = norms[static_cast<std::size_t>(chance.below(std::size(norms)))];
}

policies::job_spec draw_job(const scenario& of, draws& chance, std::size_t number) {
  policies::job_spec job;
  job.name = "job" + std::to_string(number);
  job.workers = draw(chance, of.workers);
  if (of.joiners > 0)
    job.max_workers = job.workers + chance.between<std::uint32_t>(0, of.joiners);
  job.command = {"simulated"};
  job.consistency = pick(chance, of.policies);
  job.reduce = chance.chance(0.5) ? policies::reduce_kind::mean : policies::reduce_kind::sum;
  job.seed = chance.next();
  if (!of.aggregators.empty()) job.aggregators = pick(chance, of.aggregators);
  if (of.checkpoints.high > 0)
    job.checkpoint = policies::checkpoint_spec{.every_clocks = draw(chance, of.checkpoints),
                                               .every_ms = 0,
                                               .keep = chance.between<std::uint32_t>(1, 3)};
  if (!chance.chance(of.come_back))
    job.on_worker_loss = of.shrink > 0 && chance.chance(of.shrink)
                             ? policies::worker_loss_rule::shrink
                             : policies::worker_loss_rule::fail;
  const auto tables =
      of.tables_up_to > 0 ? draw_size(chance, of.tables_up_to) : draw(chance, of.tables);
  for (std::uint64_t t = 0; t < tables; ++t) {
    policies::table_spec table;
    table.name = "t" + std::to_string(t);
    if (of.chunks_up_to > 0)
      table.shape = {draw_size(chance, of.chunks_up_to) * small_chunk_bytes / sizeof(float)};
    else
      table.shape = {draw(chance, of.elements)};
    table.optimizer = draw_optimizer(chance);
    draw_schedule(job.seed + t, table.optimizer);
    if (chance.chance(0.5)) table.init = {policies::init_kind::uniform, 1.0F};
    job.tables.push_back(std::move(table));
  }
  if (of.clips > 0 && job.consistency.kind == policies::consistency_kind::bsp)
    draw_clip(of, job);
  return job;
}

worker_script draw_script(const scenario& of, draws& chance) {
  worker_script script;
  script.way = pick(chance, of.ways);
  script.clocks = draw(chance, of.clocks);
  // Who waits for its pushes before it skips others may wait for one that does the same.
  if (script.way == worker_way::overlapped && chance.chance(0.5)) script.skip = of.skip;
  script.compute_max = chance.between(microsecond, 3 * millisecond);
  if (chance.chance(of.slow_workers)) {
    script.slow_rank = chance.next();
    script.slow_factor = chance.between<std::uint32_t>(2, 20);
  }
  script.pause = of.pause;
  script.pause_max = of.pause_max;
  return script;
}

// What workers keep, and in which of their commits they die: once in a while after its last
// byte, before anything is sent.
void draw_keeping(const scenario& of, draws& chance, cluster_plan& plan) {
  std::uint64_t commits = 0;
  for (std::size_t job = 0; job < plan.scripts.size(); ++job) {
    auto& script = plan.scripts[job];
    if (!chance.chance(of.keeping)) continue;
    script.keeps_from =
        chance.chance(0.7) ? 0 : chance.between<std::uint64_t>(0, script.clocks - 1);
    commits += script.clocks * plan.spec.jobs[job].workers;
    if (of.mirror_every.high > 0) {
      plan.spec.jobs[job].state_mirror_every = draw(chance, of.mirror_every);
      script.holds_early = chance.chance(0.3);
      if (script.holds_early) script.keeps_from = chance.between<std::uint64_t>(1, 8);
    }
  }
  constexpr std::uint64_t bytes_most = 400;
  const auto deaths = commits == 0 ? 0 : draw(chance, of.commit_deaths);
  for (std::uint32_t i = 0; i < deaths; ++i)
    plan.commit_deaths.push_back({.commit = chance.below(commits),
                                  .bytes = chance.between<std::uint64_t>(0, bytes_most)});
}

void draw_spares(const scenario& of, draws& chance, cluster_plan& plan) {
  plan.spares_die = of.spares_die;
  if (of.spares.high > 0) {
    for (auto& job : plan.spec.jobs) job.spares = draw(chance, of.spares);
    plan.spares_copy = chance.chance(0.5) ? 0.8 : 0;
  }
}

// Draws of its own. An exchange is of whole tables, which may be lazy all the same.
void draw_ranges(const scenario& of, std::uint64_t seed, policies::job_spec& job,
                 worker_script& script) {
  draws chance(seed + 41);
  if (!chance.chance(of.ranges)) return;
  constexpr double lazy_tables = 0.8;
  for (auto& table : script.tables) table.optimizer.lazy = chance.chance(lazy_tables);
  job.tables = script.tables;
  if (script.way != worker_way::exchange) script.ranges = chance.chance(0.5) ? 1.0 : 0.6;
}

// Draws of its own. Without aggregators.
void draw_rows(const scenario& of, std::uint64_t seed, policies::job_spec& job,
               worker_script& script) {
  draws chance(seed + 53);
  if (!chance.chance(of.rows) || job.aggregators.kind != policies::aggregators_kind::none)
    return;
  constexpr double tables_of_rows = 0.7;
  constexpr policies::optimizer_kind kinds[] = {policies::optimizer_kind::sgd,
                                                policies::optimizer_kind::adagrad,
                                                policies::optimizer_kind::adam};
  if (script.way == worker_way::exchange) script.way = worker_way::pull_push;
  for (auto& table : script.tables) {
    if (!chance.chance(tables_of_rows)) continue;
    const auto kind = kinds[static_cast<std::size_t>(chance.below(std::size(kinds)))];
    const auto schedule = table.optimizer.schedule;
    table.optimizer = policies::default_optimizer(kind);
    table.optimizer.schedule = schedule;
    table.shape = {chance.between<std::uint64_t>(1, 6)};
    table.rows = {
        .dim = row_dim, .capacity = 1000, .init = {policies::init_kind::uniform, 0.5F}};
    if (chance.chance(0.3)) table.rows.init.kind = policies::init_kind::constant;
    table.init = {};
  }
  job.tables = script.tables;
}

// Draws of its own. There are few rows in a part, and few of them are too many.
void draw_lifetimes(const scenario& of, std::uint64_t seed, policies::job_spec& job,
                    worker_script& script) {
  draws chance(seed + 59);
  for (auto& table : script.tables) {
    if (!table.has_rows() || !chance.chance(of.lifetimes)) continue;
    auto& lifetime = table.rows.lifetime;
    const auto parts = table.shape.front();
    if (chance.chance(0.6)) {
      lifetime.admit_count = chance.between<std::uint32_t>(2, 3);
      lifetime.candidates = parts * chance.between<std::uint64_t>(1, rows_per_part);
    }
    if (chance.chance(0.5)) lifetime.unseen = chance.between<std::uint64_t>(1, 4);
    if (chance.chance(0.6)) {
      lifetime.rows = parts * chance.between<std::uint64_t>(1, rows_per_part - 1);
      table.rows.capacity = lifetime.rows;
      lifetime.by = runtime::eviction_orders[static_cast<std::size_t>(
          chance.below(std::size(runtime::eviction_orders)))];
    }
  }
  job.tables = script.tables;
}

// Draws of its own.
void draw_full_every(const scenario& of, policies::job_spec& job) {
  draws chance(job.seed + 61);
  if (job.checkpoint) job.checkpoint->full_every = draw(chance, of.full_every);
}

// Draws of its own.
void draw_calls(const scenario& of, std::uint64_t seed, worker_script& script) {
  draws chance(seed + 47);
  if (chance.chance(of.calls)) script.calls = chance.chance(0.5) ? 1.0 : 0.4;
}

// Draws of its own. Norms of gradients are of sums.
void draw_reductions(const scenario& of, policies::job_spec& job, worker_script& script) {
  draws chance(job.seed + 71);
  if (!chance.chance(of.reductions)) return;
  const std::span words(runtime::reduction_words);
  for (auto& table : script.tables) {
    const auto drawn = static_cast<std::size_t>(chance.below(words.size() + 1));
    const auto reduce =
        drawn == words.size() ? runtime::reduction::plugin : words[drawn].second;
    if (table.has_rows() || (!runtime::is_sum(reduce) && job.clip_norm > 0)) continue;
    table.optimizer.reduce = reduce;
    if (reduce == runtime::reduction::plugin) table.optimizer.reduce_rule = simulated_rule();
  }
  job.tables = script.tables;
}

// Draws of its own.
void draw_ahead(const scenario& of, std::uint64_t seed, worker_script& script) {
  draws chance(seed + 67);
  if (chance.chance(of.ahead)) script.ahead = chance.chance(0.5) ? 1.0 : 0.5;
}

// What else workers do with their tables.
void draw_uses(const scenario& of, policies::job_spec& job, worker_script& script) {
  draw_ranges(of, job.seed, job, script);
  draw_rows(of, job.seed, job, script);
  draw_lifetimes(of, job.seed, job, script);
  draw_reductions(of, job, script);
  draw_full_every(of, job);
  draw_calls(of, job.seed, script);
  draw_ahead(of, job.seed, script);
}

// Draws of its own: what else a seed draws stays what it was.
void draw_devices(const scenario& of, std::uint64_t seed, cluster_plan& plan) {
  draws chance(seed + 29);
  plan.on_devices = chance.chance(of.on_devices);
  plan.devices_lost = of.devices_lost;
}

// What somebody asks of the launcher.
void draw_requests(const scenario& of, draws& chance, cluster_plan& plan) {
  const auto& spec = plan.spec;
  if (of.scalings.high > 0) {
    const auto scalings = draw(chance, of.scalings);
    for (std::uint32_t i = 0; i < scalings; ++i) {
      const auto job = chance.below(spec.jobs.size());
      plan.scalings.push_back({job, chance.between<std::uint32_t>(1, spec.jobs[job].capacity()),
                               chance.between<nanoseconds>(0, of.deaths_within)});
    }
  }
  if (of.moves.high > 0) {
    const auto moves = draw(chance, of.moves);
    for (std::uint32_t i = 0; i < moves; ++i)
      plan.shard_scalings.push_back({chance.between<std::uint32_t>(1, spec.shards),
                                     chance.between<nanoseconds>(0, of.deaths_within)});
  }
  if (of.cancellations.high > 0) {
    const auto cancellations = draw(chance, of.cancellations);
    for (std::uint32_t i = 0; i < cancellations; ++i)
      plan.cancellations.push_back({.job = chance.below(spec.jobs.size()),
                                    .when = chance.between<nanoseconds>(0, of.deaths_within)});
  }
}

}  // namespace

cluster_plan draw_plan(const scenario& of, std::uint64_t seed) {
  draws chance(runtime::mix64(seed ^ 0x706c616eULL));
  cluster_plan plan;
  auto& spec = plan.spec;
  spec.name = of.name;
  spec.shards = draw(chance, of.shards);
  spec.replicas = of.replicas;
  if (of.max_shards.high > 0) {
    spec.slots = spec.shards;
    spec.shards = std::max(spec.slots, draw(chance, of.max_shards));
  }
  spec.chunk_bytes =
      of.chunks_up_to > 0 ? small_chunk_bytes : 64 * chance.between<std::uint64_t>(1, 3);
  const auto hosts = draw(chance, of.hosts);
  for (std::uint32_t i = 0; i < hosts; ++i)
    spec.hosts.push_back({"host" + std::to_string(i), "10.0.0." + std::to_string(i + 1), {}});
  if (of.hosts_of_rack.high > 0) {
    const auto hosts_of_rack = std::max(1U, draw(chance, of.hosts_of_rack));
    for (std::uint32_t i = 0; i < hosts; ++i)
      spec.hosts[i].rack = "rack" + std::to_string(i / hosts_of_rack);
  }
  const auto jobs = draw(chance, of.jobs);
  for (std::uint32_t i = 0; i < jobs; ++i) {
    spec.jobs.push_back(draw_job(of, chance, i));
    plan.scripts.push_back(draw_script(of, chance));
    auto& known = spec.jobs.back().tables;
    plan.scripts.back().tables = known;
    draw_uses(of, spec.jobs.back(), plan.scripts.back());
    if (of.created > 0)
      std::erase_if(known, [&](const auto&) { return chance.chance(of.created); });
  }
  plan.windows = chance.chance(of.windows);
  plan.faults = of.faults;
  plan.faults_end = of.faults_last;
  plan.clock_skew = of.clock_skew;
  plan.strangers = of.strangers;
  plan.no_memory = chance.chance(0.5) ? of.no_memory : 0;
  plan.no_window = chance.chance(0.5) ? of.no_window : 0;
  plan.may_fail = of.may_fail;
  plan.disk = of.disk;
  plan.power_fails = of.power_fails;
  draw_deaths(of, chance, plan);
  draw_requests(of, chance, plan);
  draw_stalls(of, chance, plan);
  if (of.spawns_fail.high > 0) plan.spawns_fail = draw(chance, of.spawns_fail);
  const auto cuts = draw(chance, of.partitions);
  for (std::uint32_t i = 0; i < cuts; ++i)
    plan.partitions.push_back({chance.between<nanoseconds>(0, 300 * millisecond),
                               chance.between<nanoseconds>(1, of.partition_max),
                               chance.next()});
  draw_breaks(of, chance, plan);
  draw_failing_writes(of, chance, plan);
  if (of.keeping > 0) draw_keeping(of, chance, plan);
  draw_spares(of, chance, plan);
  draw_host_faults(of, chance, plan);
  draws others(runtime::mix64(seed ^ 0x6b6e6f6273ULL));
  plan.set = draw_knobs(others);
  if (of.opened_in_turns > 0 && chance.chance(of.opened_in_turns)) {
    plan.set.opening_bytes = 1;
    if (chance.chance(0.5)) plan.set.go_on = chance.between(millisecond, 5 * millisecond);
  }
  draw_devices(of, seed, plan);
  if (!of.slow.empty()) draw_slowness(of, seed, plan);
  return plan;
}

}  // namespace tidegate::sim
