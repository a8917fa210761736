// A cluster as its coordinator decides it: a test names what happens, step by step, and each
// step returns the effects that came of it, a line each. Calls stay open until a step answers
// them; the journal is kept, and another coordinator may go on with it. Checks that every
// request is answered once at most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policies/coordinator/effect_lines.hpp"

namespace tidegate::policies::tests {

// One job "j" with one table "w", a chunk of which is on each shard.
struct cluster_options {
  std::uint32_t workers = 2;
  std::uint32_t max_workers = 0;
  std::uint32_t shards = 2;
  std::uint32_t replicas = 0;
  std::uint32_t slots = 0;
  std::uint32_t fan_in = 0;  // of aggregators; 0: none
  std::uint64_t checkpoint_every_clocks = 0;
  worker_loss_rule on_worker_loss = worker_loss_rule::restart;
};

inline cluster_spec cluster_of(const cluster_options& options) {
  cluster_spec spec;
  spec.name = "c";
  spec.shards = options.shards;
  spec.replicas = options.replicas;
  spec.slots = options.slots;
  spec.chunk_bytes = 64;
  job_spec job;
  job.name = "j";
  job.workers = options.workers;
  job.max_workers = options.max_workers;
  job.on_worker_loss = options.on_worker_loss;
  if (options.fan_in > 0) job.aggregators = {aggregators_kind::fan_in, options.fan_in};
  if (options.checkpoint_every_clocks > 0)
    job.checkpoint = checkpoint_spec{
        .every_clocks = options.checkpoint_every_clocks, .every_ms = 0, .keep = 2};
  constexpr std::uint64_t chunk_elements = 16;
  job.tables.push_back({"w", {chunk_elements * options.shards}, {}, {}});
  spec.jobs.push_back(job);
  return spec;
}

struct shard_id {
  std::uint32_t shard = 0;
  std::uint32_t member = 0;
  std::uint32_t incarnation = 1;
};
struct worker_id {
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 1;
};
struct aggregator_id {
  std::uint32_t index = 0;
  std::uint32_t incarnation = 1;
};
struct host_id {
  std::uint32_t slot = 0;
  std::uint32_t incarnation = 1;
  std::vector<shard_id> has = {};
};
struct table_wish {
  std::uint32_t rank = 0;
  std::string name;
  std::uint64_t elements = 16;
};
struct opened_tables {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> tables = {0};
};
struct clock_report {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
};
struct farewell {
  std::uint32_t rank = 0;
  std::string sha256 = {};
};
struct call_answer {
  std::string by = {};  // as lines name it; empty: everybody
  std::uint64_t number = 0;
  runtime::status result = {};
  std::vector<chunk_clock> clocks = {};  // of a sum_progress_call
};
struct part_report {
  std::uint32_t shard = 0;
  std::uint64_t clock = 0;
  std::string failure = {};
};

class coordinator_scenario {
 public:
  explicit coordinator_scenario(const cluster_options& options)
      : spec_(cluster_of(options)), texts_(spec_, token), core_(new_core({})) {
    core_->begin(now_, out_);
    carry_out();
  }

  // All processes that begin have joined, and what was called has been answered.
  static coordinator_scenario begun(const cluster_options& options) {
    coordinator_scenario run(options);
    for (std::uint32_t slot = 0; slot < options.slots; ++slot) run.host_joins({.slot = slot});
    if (options.slots > 0) run.hosted_members_join();
    for (std::uint32_t shard = 0; options.slots == 0 && shard < options.shards; ++shard)
      for (std::uint32_t member = 0; member <= options.replicas; ++member)
        run.shard_joins({.shard = shard, .member = member});
    for (std::uint32_t index = 0; index < run.aggregators(); ++index)
      run.aggregator_joins({.index = index});
    run.answers_all();
    return run;
  }
  // Besides, all workers have joined and opened the table.
  static coordinator_scenario training(const cluster_options& options) {
    auto run = begun(options);
    for (std::uint32_t rank = 0; rank < options.workers; ++rank) {
      run.worker_joins({.rank = rank});
      run.answers_all();
      run.tables_opened({.rank = rank});
    }
    return run;
  }

  lines shard_joins(const shard_id& id) {
    const auto name = name_of_shard(id);
    core_->shard_joined(now(), id.shard, name, waits(name), out_, {id.member, id.incarnation});
    return carry_out();
  }
  lines shard_dies(const shard_id& id) {
    drop_calls(texts_.shard_name(id.shard, id.member));
    core_->shard_lost(now(), id.shard, "killed", out_, id.member);
    return carry_out();
  }
  // A process of a slot.
  lines host_joins(const host_id& id) {
    std::vector<hosted_member> has;
    for (const auto& member : id.has)
      has.push_back({member.shard, {member.member, member.incarnation}});
    const shard_map::process process{id.slot, 0};
    core_->host_joined(now(), process, id.incarnation, has, waits(texts_.process_text(process)),
                       out_);
    return carry_out();
  }
  // Those that processes have been asked for since the last time.
  lines hosted_members_join() {
    lines all;
    for (const auto& hosted : std::exchange(hosted_, {})) {
      auto more = shard_joins({.shard = hosted.shard,
                               .member = hosted.member.number,
                               .incarnation = hosted.member.incarnation});
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  // It has ended in order.
  lines member_ends(const shard_id& id) {
    core_->member_gone(now(), {id.shard, {id.member, id.incarnation}}, out_);
    return carry_out();
  }
  lines aggregator_joins(const aggregator_id& id) {
    const auto name = aggregator_name("j", id.index, id.incarnation);
    core_->aggregator_joined(now(), "j", id.index, name, waits(name), out_, id.incarnation);
    return carry_out();
  }
  lines aggregator_dies(const aggregator_id& id) {
    drop_calls(aggregator_name("j", id.index));
    core_->aggregator_lost(now(), "j", id.index, "killed", out_);
    return carry_out();
  }
  lines worker_joins(const worker_id& id) {
    const auto name = worker_name("j", id.rank, id.incarnation);
    core_->worker_joined(
        now(), {.job = "j", .rank = id.rank, .incarnation = id.incarnation, .address = name},
        waits(name), out_);
    return carry_out();
  }
  lines worker_dies(const worker_id& id) {
    core_->worker_lost(now(), "j", id.rank, "killed");
    return carry_out();
  }
  // It has died, and the others go on without it.
  lines worker_leaves(const worker_id& id) {
    core_->worker_leaves(now(), "j", id.rank, waits("launcher"), out_);
    return carry_out();
  }
  lines worker_finishes(const farewell& last) {
    core_->worker_finished(now(), "j", last.rank, {}, last.sha256, out_);
    return carry_out();
  }
  // Over a new connection: who has moved?
  lines asks_for_moves(const worker_id& id) {
    core_->moves_of("j", id.rank, id.incarnation, out_);
    return carry_out();
  }
  lines opens_table(const table_wish& wish) {
    table_request request;
    request.job = "j";
    request.spec.name = wish.name;
    request.spec.shape = {wish.elements};
    core_->open_table(request, waits(worker_name("j", wish.rank)), out_);
    return carry_out();
  }
  lines tables_opened(const opened_tables& opened) {
    core_->tables_opened(now(), "j", opened.rank, opened.tables, out_);
    return carry_out();
  }
  lines comes_to(const clock_report& report) {
    core_->progress(now(), "j", report.rank, {.clock = report.clock}, out_);
    return carry_out();
  }
  lines part_is_durable(const part_report& report) {
    core_->checkpoint_part(now(),
                           {.token = runtime::stream_key(token, "j"),
                            .id = checkpoint_,
                            .shard = report.shard,
                            .failure = report.failure,
                            .file = {},
                            .clock = report.clock,
                            .chunks = {{.table = 0, .first = report.shard, .count = 1}}},
                           out_);
    return carry_out();
  }
  lines manifest_is_written(const runtime::status& result = {}) {
    core_->checkpoint_written(now(), "j", checkpoint_, result, out_);
    return carry_out();
  }
  lines scales(std::uint32_t workers) {
    EXPECT_TRUE(core_->scale(now(), "j", workers, out_).ok());
    return carry_out();
  }
  lines scales_shards(std::uint32_t slots) {
    EXPECT_TRUE(core_->scale_shards(now(), slots, out_).ok());
    return carry_out();
  }
  lines fails(const std::string& why) {
    core_->fail_job(now(), "j", why, out_);
    return carry_out();
  }
  // Answers the calls that are open now, in the order in which they were made.
  lines answers(const call_answer& answer) {
    for (const auto& [call, callee] : std::map(open_)) {
      if (!answer.by.empty() && answer.by != callee) continue;
      open_.erase(call);
      core_->call_done(now(), call, answer.result, out_, answer.number, answer.clocks);
    }
    return carry_out();
  }
  // Until nobody is called any more.
  lines answers_all() {
    lines all;
    while (!open_.empty()) {
      auto more = answers({});
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  // The coordinator dies, and the next one goes on with the journal.
  lines coordinator_comes_back() {
    std::vector<runtime::journal_entry> entries;
    for (const auto& [key, value] : journal_) entries.push_back({key, value});
    auto before = decode_journal(spec_, entries);
    EXPECT_TRUE(before) << "a journal of its own";
    if (!before) return {};
    open_.clear();
    waiting_.clear();
    ++incarnation_;
    core_ = new_core(std::move(*before));
    core_->begin(now(), out_);
    return carry_out();
  }

  const coordinator_core& core() const { return *core_; }
  job_state state() const { return core_->status(now_, 0).jobs[0].state; }
  // Who has asked and has no answer, in the order in which they asked.
  lines waiting() const {
    lines all;
    for (const auto& [id, name] : waiting_) all.push_back(name);
    return all;
  }

 private:
  static constexpr std::uint64_t token = 99;

  std::unique_ptr<coordinator_core> new_core(recorded_cluster before) const {
    return std::make_unique<coordinator_core>(spec_, token, restored_cluster(),
                                              std::move(before), incarnation_);
  }
  std::uint32_t aggregators() const {
    return static_cast<std::uint32_t>(
        plan_aggregation(spec_, spec_.jobs[0]).aggregators.size());
  }
  std::int64_t now() { return now_ += 1'000'000; }
  std::string name_of_shard(const shard_id& id) const {
    return texts_.shard_name(id.shard, id.member, id.incarnation);
  }
  ticket waits(const std::string& name) {
    waiting_[++last_ticket_] = name;
    return last_ticket_;
  }
  // Its answers will not come.
  void drop_calls(const std::string& callee) {
    std::erase_if(open_, [&](const auto& call) { return call.second == callee; });
  }

  lines carry_out() {
    lines all;
    while (true) {
      const auto effects = std::exchange(out_, {});
      for (const auto& record : effects.records) {
        const auto entry = encode(record);
        journal_[entry.key] = entry.value;
      }
      for (const auto& call : effects.calls) open_[call.call] = texts_.callee_of(call);
      for (const auto& host : effects.hosts)
        hosted_.insert(hosted_.end(), host.message.members.begin(), host.message.members.end());
      describe(effects, all);
      if (effects.checkpoints.empty()) return all;
      checkpoint_ = {1, checkpoint_.number + 1};
      core_->checkpoint_begun(now_, "j", checkpoint_, out_);
    }
  }
  void describe(const coordinator_effects& effects, lines& all) {
    const auto add = [&](const auto& list) {
      for (const auto& effect : list) all.push_back(texts_.text_of(effect));
    };
    add(effects.records);
    add(effects.calls);
    add(effects.moves);
    for (const auto& answer : effects.answers) {
      const auto requester = waiting_.find(answer.to);
      EXPECT_NE(requester, waiting_.end()) << "answered twice: " << answer.to;
      if (requester == waiting_.end()) continue;
      all.push_back(texts_.text_of(answer, requester->second));
      waiting_.erase(requester);
    }
    add(effects.checkpoints);
    add(effects.manifests);
    add(effects.hosts);
    add(effects.retirements);
    add(effects.idle);
  }

  const cluster_spec spec_;
  effect_lines texts_;
  std::uint32_t incarnation_ = 1;
  std::unique_ptr<coordinator_core> core_;
  coordinator_effects out_;
  std::int64_t now_ = 1'000'000'000;
  std::map<std::string, std::string> journal_;
  std::map<call_id, std::string> open_;    // calls, and who is called
  std::map<ticket, std::string> waiting_;  // requests, and who has asked
  std::vector<hosted_member> hosted_;      // asked for, and not joined yet
  ticket last_ticket_ = 0;
  checkpoint_id checkpoint_;
};

}  // namespace tidegate::policies::tests
