#include "policies/shard/step_feeder.hpp"

#include <utility>

#include "policies/shard/chain_state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_header;
using runtime::frame_kind;

namespace {

// Chunks that are handed over at a time: each holds its pushes up, and a copy in memory.
constexpr std::size_t seeds_under_way_max = 4;

void put_squares(const std::optional<double>& squares, frame_header& header) {
  if (!squares) return;
  header.flags |= runtime::frame_flag_squares;
  header.squares = *squares;
}

}  // namespace

void step_feeder::lead(std::uint32_t view, peer_id replica, bool has_all, bool shares) {
  TIDEGATE_ASSERT(!is_over(view), "views rise");
  state_.carry_out_all();
  view_ = view;
  replica_ = replica;
  state_.links.forget(neighbour::replica);
  shares_ = shares;
  synced_ = false;
  forget_all();
  const auto& registry = state_.shard.registry();
  for (const auto job : registry.open_jobs())
    for (const auto table : registry.tables_of(job)) lend(job, table);
  // Before anything is lent: what is on its way goes as frames. Of a job that has ended, too,
  // whose payload waits for it.
  for (const auto job : registry.all_jobs())
    state_.ingress.about_job(
        job, [&](auto& out) { state_.shard.replication().lead(job, has_all, out); });
  for (const auto job : registry.open_jobs())
    for (const auto rank : registry.finished_ranks(job))
      send_farewell(state_.farewell_of(job, rank));
  seed_more();
}

void step_feeder::forget_all() {
  under_way_.clear();
  farewells_.clear();
  lending_.clear();
  lent_.clear();
  steps_.clear();
  seeding_ = 0;
}

void step_feeder::lead_nobody(std::uint32_t view) {
  TIDEGATE_ASSERT(!is_over(view), "views rise");
  view_ = view;
  replica_.reset();
  state_.links.forget(neighbour::replica);
  forget_all();
  for (const auto job : state_.shard.registry().all_jobs())
    state_.ingress.about_job(
        job, [&](auto& out) { state_.shard.replication().lead_nobody(job, out); });
  state_.receiver.answer_owed();
}

void step_feeder::job_opened(std::uint64_t token) {
  if (!replica_) return;
  state_.ingress.about_job(
      token, [&](auto& out) { state_.shard.replication().lead(token, true, out); });
}

void step_feeder::seed_more() {
  if (!replica_) return;
  const auto& registry = state_.shard.registry();
  for (const auto job : registry.open_jobs())
    while (seeding_ < seeds_under_way_max) {
      const auto slot = state_.shard.replication().next_to_seed(job);
      if (!slot) break;
      ++seeding_;
      state_.shard.replication().seed(
          *slot, state_.ingress.pending(job, registry.name_of(*slot).table));
    }
  state_.ingress.carry_out();
  tell_in_sync();
}

void step_feeder::tell_in_sync() {
  if (synced_ || !replica_ || !farewells_.empty()) return;
  for (const auto job : state_.shard.registry().open_jobs())
    if (!state_.shard.replication().all_seeded(job)) return;
  synced_ = true;
  state_.shell.in_sync(view_);
}

void step_feeder::replicate(const effects::replicate& replicate) {
  if (!replica_) return;  // it was lost since
  transfer added;
  added.step = replicate;
  if (lent_.contains(state_.shard.registry().name_of(replicate.slot).table)) {
    added.in_place = true;
    if (replicate.payload != no_payload) state_.shell.keep_sum(replicate);
    under_way_.insert_or_assign(replicate.slot, added);
    steps_.push_back(replicate);
    return state_.shell.post_soon();
  }
  send(under_way_.insert_or_assign(replicate.slot, added).first->second, false);
}

void step_feeder::seed(const effects::seed& seed) {
  if (!replica_) return;
  transfer added;
  added.is_seed = true;
  added.chunk = seed;
  send(under_way_.insert_or_assign(seed.slot, added).first->second, false);
}

void step_feeder::send(const transfer& sent, bool retransmit) {
  if (sent.is_seed) {
    auto header = state_.header_for(frame_kind::seed, view_, sent.chunk.slot);
    const auto& seeded = state_.shard.replication().seed_of(sent.chunk.slot);
    header.version = seeded.now.version;
    if (seeded.norm) {
      header.clock = seeded.norm->clock;
      put_squares(seeded.norm->squares, header);
    }
    return state_.shell.send_seed(*replica_, header, sent.chunk, seeded, retransmit);
  }
  const auto& step = sent.step;
  if (sent.in_place) return post_steps(step, 1);
  auto header = state_.header_for(frame_kind::step, view_, step.slot);
  header.version = step.version;
  header.worker = step.rank;
  header.clock = step.clock;
  header.request = step.contributors;
  header.rate = step.rate;
  put_squares(step.squares, header);
  if (step.skips) {
    header.flags |= runtime::frame_flag_skip;
    return state_.shell.send_plain(*replica_, header);
  }
  state_.shell.send_step(*replica_, header, step);
}

void step_feeder::replicate_farewell(const effects::replicate_farewell& farewell) {
  if (replica_) send_farewell(state_.farewell_of(farewell.job, farewell.rank));
}

void step_feeder::send_farewell(const farewell_name& name) {
  farewells_.try_emplace(name);
  frame_header header;
  header.kind = frame_kind::farewell;
  header.job = name.job;
  header.epoch = view_;
  header.worker = name.rank;
  header.clock = name.since;
  header.chunk = runtime::whole_job;
  state_.shell.send_plain(*replica_, header);
}

void step_feeder::lend(std::uint64_t job, std::uint32_t table) {
  const auto& registry = state_.shard.registry();
  // Sums of rows are of any size, and are sent.
  if (!replica_ || !shares_ || registry.slots_of(table).empty() || registry.has_rows(table))
    return;
  lending_[table].job = job;
  send_lend(job, table);
}

void step_feeder::send_lend(std::uint64_t job, std::uint32_t table) {
  frame_header header;
  header.kind = frame_kind::lend;
  header.job = job;
  header.epoch = view_;
  header.table = table;
  state_.shell.lend_sums(*replica_, header);
}

void step_feeder::on_lent(const frame_header& header) {
  if (!leads_in(header.epoch) || lending_.erase(header.table) == 0) return;
  if (static_cast<reply_code>(header.code) == reply_code::ok)
    lent_.insert(header.table);
  else
    TIDEGATE_RARE("shard: the replica cannot read the sums in place");
}

// Chunks that lie side by side and make the same step share a frame.
void step_feeder::post() {
  for (std::size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
    const auto& first = steps_[begin];
    for (end = begin + 1; end < steps_.size(); ++end) {
      const auto& next = steps_[end];
      if (!state_.are_adjacent(steps_[end - 1], next) || first.rank != next.rank ||
          first.clock != next.clock || first.skips != next.skips ||
          first.contributors != next.contributors || first.rate != next.rate ||
          first.squares != next.squares)
        break;
    }
    post_steps(first, static_cast<std::uint32_t>(end - begin));
  }
  steps_.clear();
}

void step_feeder::post_steps(const effects::replicate& first, std::uint32_t count) {
  auto header = state_.header_for(frame_kind::steps, view_, first.slot);
  header.chunk = state_.shard.registry().index_of(first.slot);
  header.count = count;
  header.version = first.version;
  header.worker = first.rank;
  header.clock = first.clock;
  header.request = first.contributors;
  header.rate = first.rate;
  put_squares(first.squares, header);
  header.version_buffer =
      static_cast<std::uint16_t>(first.clock % runtime::limits::clocks_in_flight_max);
  if (first.skips) header.flags |= runtime::frame_flag_skip;
  state_.shell.send_plain(*replica_, header);
}

void step_feeder::on_followed(const frame_header& header) {
  if (header.count > 0 && header.code == 0) return on_followed_run(header);
  if (!leads_in(header.epoch)) return;
  const auto code = static_cast<reply_code>(header.code);
  if (code == reply_code::stale_epoch) {
    if (runtime::is_planted(runtime::planted_bug::old_primary_still_serves))
      return lead_nobody(view_);
    return state_.shell.replaced(view_);
  }
  if (header.chunk == runtime::whole_job) {
    const farewell_name name{.job = header.job, .rank = header.worker, .since = header.clock};
    farewells_.erase(name);
    state_.receiver.farewell_arrived(name);
    if (name == state_.farewell_of(header.job, header.worker))
      state_.ingress.about_job(header.job, [&](auto& out) {
        state_.shard.replication().farewell_replicated(header.job, header.worker, out);
      });
    return tell_in_sync();
  }
  if (code != reply_code::ok) return;
  // Made before, or handed over before: told as a run of one.
  const auto& registry = state_.shard.registry();
  const auto slot = registry.find_slot(header.job, header.table, header.chunk);
  if (!slot) return;
  auto run = header;
  run.chunk = registry.index_of(*slot);
  run.count = 1;
  on_followed_run(run);
}

void step_feeder::on_followed_run(const frame_header& header) {
  if (!leads_in(header.epoch)) return;
  auto& replication = state_.shard.replication();
  auto& out = state_.ingress.pending(header.job, header.table);
  bool seeded = false;
  slots_.clear();
  for (const auto slot : state_.run_of(header)) {
    const auto at = under_way_.find(slot);
    if (at == under_way_.end()) continue;
    const bool is_seed = at->second.is_seed;
    const auto version =
        is_seed ? replication.seed_of(slot).now.version : at->second.step.version;
    if (header.version != version) continue;
    under_way_.erase(at);
    if (!is_seed) {
      slots_.push_back(slot);
      continue;
    }
    --seeding_;
    seeded = true;
    state_.shell.seed_arrived(slot);
    replication.seeded(slot, header.version, out);
  }
  replication.replicated(slots_, header.version, out);
  state_.ingress.carry_out();
  if (seeded) seed_more();
}

void step_feeder::resend_all() {
  for (const auto& [slot, sent] : under_way_) send(sent, true);
  for (const auto& [table, offer] : lending_) send_lend(offer.job, table);
  for (const auto& [name, retransmit] : farewells_) send_farewell(name);
}

void step_feeder::tick(std::int64_t now) {
  if (!replica_) return;
  for (auto& [slot, sent] : under_way_) {
    if (!sent.retransmit.is_due(now, retransmit_limits_)) continue;
    TIDEGATE_RARE("shard: a step is handed to the replica again");
    send(sent, true);
  }
  for (auto& [table, loan] : lending_)
    if (loan.retransmit.is_due(now, retransmit_limits_)) send_lend(loan.job, table);
  for (auto& [name, retransmit] : farewells_)
    if (retransmit.is_due(now, retransmit_limits_)) send_farewell(name);
}

}  // namespace tidegate::policies::sharding
