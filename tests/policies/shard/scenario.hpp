// A shard, a replica of it or an aggregator as its core decides: a test names what happens,
// step by step, and each step returns the effects that came of it, a line each. Says itself
// that a reply has been sent, as soon as its step is over.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policies/shard/effect_lines.hpp"

namespace tidegate::policies::tests {

// One job with one table, all of whose chunks are here.
struct shard_options {
  consistency_spec policy = {consistency_kind::bsp, 0};
  std::uint32_t ranks = 2;
  std::uint32_t contributors = 0;  // ranks to begin with; 0: all
  std::uint32_t chunks = 1;
  bool workers_come_back = false;
  bool replicated = false;
  bool is_replica = false;
  bool is_relay = false;
};

struct push_frame {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  std::uint32_t chunk = 0;
  std::uint32_t incarnation = 1;
  bool pulls = false;      // also at the clock after
  bool announced = false;  // its payload asks for a place first
};
struct pull_frame {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  std::uint32_t chunk = 0;
  std::uint32_t incarnation = 1;
  bool is_final = false;
  bool again = false;  // a copy of the frame before
};
struct ring_frame {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  bool push = true;
  bool pull = true;
};
struct process_of_rank {
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 1;
};
struct clock_of_rank {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
};
// A step that a primary hands to its replica.
struct step_frame {
  std::uint64_t version = 0;
  std::uint64_t clock = 0;
  std::uint32_t rank = all_ranks;
  std::uint32_t contributors = 2;
  bool skips = false;
};
// Upstream has answered an aggregator's pull.
struct parameters {
  std::uint64_t version = 0;
  std::uint64_t min_clock = 0;
};

class shard_scenario {
 public:
  explicit shard_scenario(const shard_options& options) : options_(options), texts_(core_) {
    const auto contributors = options.contributors > 0 ? options.contributors : options.ranks;
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < contributors; ++rank) members.push_back(rank);
    const shard_core::job_options job{.epoch = options.is_replica ? 0 : epoch,
                                      .workers = options.ranks,
                                      .consistency = options.policy,
                                      .workers_come_back = options.workers_come_back,
                                      .members = members,
                                      .replicated = options.replicated,
                                      .contributors = contributors};
    if (options.is_relay)
      core_.admin().open_relay(token, job, 1);
    else
      core_.admin().open_job(token, job);
    std::vector<chunk_place> places;
    for (std::uint32_t chunk = 0; chunk < options.chunks; ++chunk)
      places.push_back({chunk, 0, chunk * elements, elements});
    core_.admin().open_table(token, table, places);
    for (const auto rank : members) admits({.rank = rank});
  }
  shard_scenario(const shard_scenario&) = delete;
  shard_scenario& operator=(const shard_scenario&) = delete;

  lines pushes(const push_frame& frame) {
    const auto tag = tag_of(frame.rank, frame.incarnation, frame.chunk, frame.clock);
    if (frame.announced)
      if (const auto judged = core_.begin_push(tag, bytes);
          judged.kind != push_admission::verdict::take)
        return {verdict_text(judged) + " " + push_text(tag)};
    core_.push(tag, texts_.new_payload(push_text(tag)), out_, frame.pulls);
    return carry_out();
  }
  // Ends a clock without a gradient.
  lines skips(const push_frame& frame) {
    core_.push(tag_of(frame.rank, frame.incarnation, frame.chunk, frame.clock), no_payload,
               out_, frame.pulls);
    return carry_out();
  }
  lines pulls(const pull_frame& frame) {
    if (frame.again) --requests_;
    core_.pull(tag_of(frame.rank, frame.incarnation, frame.chunk, frame.clock), frame.is_final,
               out_);
    return carry_out();
  }
  lines in_place(const ring_frame& frame) {
    const auto tag = tag_of(frame.rank, 1, whole_table, frame.clock);
    std::vector<payload_handle> payloads;
    for (std::uint32_t chunk = 0; frame.push && chunk < options_.chunks; ++chunk)
      payloads.push_back(texts_.new_payload(push_text(tag) + "." + text(chunk)));
    core_.doorbell(tag, {.push = frame.push, .pull = frame.pull}, payloads, out_);
    return carry_out();
  }
  lines finishes(const process_of_rank& worker) {
    core_.finished(tag_of(worker.rank, worker.incarnation, whole_table, 0), out_);
    return carry_out();
  }
  lines closes() {
    core_.admin().close_job(token, out_);
    return carry_out();
  }

  lines admits(const process_of_rank& worker) {
    const auto name = rank_text(worker.rank, worker.incarnation);
    const auto code = core_.admin().admit_worker(token, worker.rank, worker.incarnation);
    if (code != reply_code::ok) return {"refuse " + name + ": " + code_text(code)};
    const std::uint32_t tables[] = {table};
    return {"admit " + name + " at clock " +
            text(core_.admin().first_missing(token, worker.rank, tables))};
  }
  // Frames of the rank are refused from now on.
  lines shuts_out(std::uint32_t rank) {
    core_.membership().shut_out(token, rank);
    return {"rank " + text(rank) + " has pushed below clock " +
            text(core_.membership().pushed_below(token, rank))};
  }
  lines leaves(const clock_of_rank& leaver) {
    change({.number = ++changes_,
            .rank = leaver.rank,
            .clock = leaver.clock,
            .joins = false,
            .pushes_here = true});
    return carry_out();
  }
  lines holds(const clock_of_rank& joiner) {
    const auto come_to = core_.membership().hold(token, joiner.clock, joiner.rank, out_);
    auto all = carry_out();
    all.push_back(come_to == 0 ? "hold clock " + text(joiner.clock)
                               : "do not hold: at clock " + text(come_to));
    return all;
  }
  lines joins(const clock_of_rank& joiner) {
    change({.number = ++changes_,
            .rank = joiner.rank,
            .clock = joiner.clock,
            .joins = true,
            .pushes_here = true});
    return carry_out();
  }

  lines copies_at(std::uint64_t clock) {
    const std::uint32_t tables[] = {table};
    const auto gone_by = core_.snapshots().cut(token, clock, tables, out_);
    auto all = carry_out();
    if (gone_by != sharding::snapshot_request::nothing_gone_by)
      all.push_back("copy nothing: at version " + text(gone_by));
    return all;
  }

  // Towards a replica, which has all, or begins with nothing.
  lines leads(bool has_all) {
    core_.replication().lead(token, has_all, out_);
    while (const auto slot = core_.replication().next_to_seed(token))
      core_.replication().seed(*slot, out_);
    return carry_out();
  }
  lines leads_nobody() {
    core_.replication().lead_nobody(token, out_);
    return carry_out();
  }
  lines replica_has(std::uint64_t version) {
    core_.replication().replicated(core_.registry().slots_of(table), version, out_);
    return carry_out();
  }
  lines replica_is_given(std::uint64_t version) {
    core_.replication().seeded(0, version, out_);
    return carry_out();
  }
  lines replica_knows_farewell(std::uint32_t rank) {
    core_.replication().farewell_replicated(token, rank, out_);
    return carry_out();
  }

  // Towards a primary.
  lines follows(const step_frame& frame) {
    const shard_core::followed_step step{
        token, table, 0, frame.version, frame.rank, frame.clock, frame.contributors};
    if (const auto judged = core_.follower().begin_step(step, bytes);
        judged.kind != push_admission::verdict::take)
      return {verdict_text(judged) + " version " + text(frame.version)};
    core_.follower().follow(
        step, frame.skips ? no_payload : texts_.new_payload("step " + text(frame.version)),
        out_);
    return carry_out();
  }
  lines is_given(const shard_core::seed_state& chunk) {
    const shard_core::followed_step step{token, table, 0, chunk.now.version, 0, 0, 0};
    if (const auto judged = core_.follower().begin_seed(step);
        judged.kind != push_admission::verdict::take)
      return {verdict_text(judged) + " version " + text(chunk.now.version)};
    core_.follower().follow_seed(step, chunk, out_);
    return carry_out();
  }
  lines hears_farewell(std::uint32_t rank) {
    core_.follower().follow_farewell(token, rank, 0);
    return carry_out();
  }
  lines is_promoted() {
    options_.is_replica = false;
    core_.follower().promote(token, epoch, out_);
    return carry_out();
  }

  // Towards those upstream of an aggregator.
  lines sum_is_answered(std::uint64_t clock, reply_code code = reply_code::ok) {
    core_.relay().handed_on(0, clock, code, false, out_);
    return carry_out();
  }
  lines pull_is_answered(const parameters& received) {
    const auto version_buffer = core_.relay().begin_pulled(0);
    lines all{"receive version " + text(received.version) + " in plane " +
              text(version_buffer)};
    core_.relay().pulled(0, reply_code::ok, received.version, received.min_clock, out_);
    const auto more = carry_out();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  lines pull_is_refused(reply_code code) {
    core_.relay().pulled(0, code, 0, 0, out_);
    return carry_out();
  }

  const shard_core& core() const { return core_; }
  // Gradients that have come and have not been released.
  std::size_t payloads() const { return texts_.payloads(); }

 private:
  static constexpr std::uint64_t token = 77;
  static constexpr std::uint64_t epoch = 4;
  static constexpr std::uint32_t table = 5;
  static constexpr std::uint64_t elements = 8;
  static constexpr std::uint64_t bytes = elements * sizeof(float);

  static std::string verdict_text(const push_admission& judged) {
    if (judged.kind == push_admission::verdict::drop) return "drop";
    return judged.code == reply_code::ok ? "ack at once" : "refuse, " + code_text(judged.code);
  }
  frame_tag tag_of(std::uint32_t rank, std::uint32_t incarnation, std::uint32_t chunk,
                   std::uint64_t clock) {
    return {.job = token,
            .epoch = epoch,
            .incarnation = incarnation,
            .rank = rank,
            .table = table,
            .chunk = chunk,
            .clock = clock,
            .request = ++requests_};
  }
  void change(const membership_change& news) {
    core_.membership().change_membership(token, news, out_);
  }

  lines carry_out() {
    const auto effects = std::exchange(out_, {});
    auto all = texts_.of(effects);
    for (const auto& effect : effects.list)
      if (const auto* reply = std::get_if<shard_effects::reply>(&effect);
          reply != nullptr && reply->code == reply_code::ok)
        core_.sent(reply->slot, reply->tag.rank, reply->where.version_buffer);
    return all;
  }

  shard_options options_;
  shard_core core_;
  effect_lines texts_;
  shard_effects out_;
  std::uint64_t requests_ = 0;
  std::uint32_t changes_ = 0;
};

}  // namespace tidegate::policies::tests
