#include "policies/shard/replication_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

namespace {

// Chunks that are handed over at a time: each holds its pushes up, and a copy in memory.
constexpr std::size_t seeds_under_way_max = 4;

}  // namespace

void replication_core::lead(std::uint32_t view, peer_id replica, bool has_all, bool shares) {
  TIDEGATE_ASSERT(!lead_is_over(view), "views rise");
  carry_out_all();
  led_view_ = view;
  replica_ = replica;
  reconnects_.forget(neighbour::replica);
  shares_ = shares;
  synced_ = false;
  forget_all();
  for (const auto job : shard_.registry().open_jobs())
    for (const auto table : shard_.registry().tables_of(job)) lend(job, table);
  // Before anything is lent: what is on its way goes as frames. Of a job that has ended, too,
  // whose payload waits for it.
  for (const auto job : shard_.registry().all_jobs())
    front_.about_job(job, [&](auto& out) { shard_.replication().lead(job, has_all, out); });
  for (const auto job : shard_.registry().open_jobs())
    for (const auto rank : shard_.registry().finished_ranks(job))
      send_farewell(farewell_of(job, rank));
  seed_more();
}

// What has been decided for those who were the neighbours until now.
void replication_core::carry_out_all() {
  for (const auto job : shard_.registry().all_jobs()) front_.about_job(job, [](auto&) {});
}

void replication_core::forget_all() {
  under_way_.clear();
  farewells_.clear();
  lending_.clear();
  lent_.clear();
  steps_.clear();
  seeding_ = 0;
}

void replication_core::lead_nobody(std::uint32_t view) {
  TIDEGATE_ASSERT(!lead_is_over(view), "views rise");
  led_view_ = view;
  replica_.reset();
  reconnects_.forget(neighbour::replica);
  forget_all();
  for (const auto job : shard_.registry().all_jobs())
    front_.about_job(job, [&](auto& out) { shard_.replication().lead_nobody(job, out); });
  for (const auto& name : std::exchange(owed_, {})) answer_farewell(name);
}

void replication_core::job_opened(std::uint64_t token) {
  if (!replica_) return;
  front_.about_job(token, [&](auto& out) { shard_.replication().lead(token, true, out); });
}

// What has not been answered is handed over again.
void replication_core::follow(std::uint32_t view, peer_id primary) {
  TIDEGATE_ASSERT(!follow_is_over(view), "views rise");
  carry_out_all();
  view_ = view;
  followed_.clear();
  owed_.clear();
  shard_.follower().follow_another();
  primary_ = primary;
  reconnects_.forget(neighbour::primary);
  followed_since_ = view;
  follows_ = true;
}

bool replication_core::promote(std::uint32_t view, std::uint64_t epoch) {
  if (!follows_ && view_ >= view) return false;
  view_ = view;
  follows_ = false;
  reconnects_.forget(neighbour::primary);
  owed_.clear();
  for (const auto job : shard_.registry().open_jobs()) {
    front_.about_job(job, [&](auto& out) { shard_.follower().promote(job, epoch, out); });
    front_.promoted(job);
  }
  return true;
}

void replication_core::seed_more() {
  if (!replica_) return;
  for (const auto job : shard_.registry().open_jobs())
    while (seeding_ < seeds_under_way_max) {
      const auto slot = shard_.replication().next_to_seed(job);
      if (!slot) break;
      ++seeding_;
      shard_.replication().seed(*slot,
                                front_.pending(job, shard_.registry().name_of(*slot).table));
    }
  front_.carry_out();
  tell_in_sync();
}

void replication_core::tell_in_sync() {
  if (synced_ || !replica_ || !farewells_.empty()) return;
  for (const auto job : shard_.registry().open_jobs())
    if (!shard_.replication().all_seeded(job)) return;
  synced_ = true;
  shell_.in_sync(led_view_);
}

frame_header replication_core::header_for(frame_kind kind, std::uint32_t view,
                                          std::uint32_t slot) const {
  auto header = header_of(kind, shard_.registry().name_of(slot), refusal::none);
  header.epoch = view;
  return header;
}

void replication_core::replicate(const effects::replicate& replicate) {
  if (!replica_) return;  // it was lost since
  under_way transfer;
  transfer.step = replicate;
  if (lent_.contains(shard_.registry().name_of(replicate.slot).table)) {
    transfer.in_place = true;
    if (replicate.payload != no_payload) shell_.keep_sum(replicate);
    under_way_.insert_or_assign(replicate.slot, transfer);
    steps_.push_back(replicate);
    return shell_.post_soon();
  }
  send(under_way_.insert_or_assign(replicate.slot, transfer).first->second, false);
}

void replication_core::seed(const effects::seed& seed) {
  if (!replica_) return;
  under_way transfer;
  transfer.is_seed = true;
  transfer.chunk = seed;
  send(under_way_.insert_or_assign(seed.slot, transfer).first->second, false);
}

void replication_core::send(const under_way& transfer, bool again) {
  if (transfer.is_seed) {
    auto header = header_for(frame_kind::seed, led_view_, transfer.chunk.slot);
    const auto& state = shard_.replication().seed_of(transfer.chunk.slot);
    header.version = state.now.version;
    return shell_.send_seed(*replica_, header, transfer.chunk, state, again);
  }
  const auto& step = transfer.step;
  if (transfer.in_place) return post_steps(step, 1);
  auto header = header_for(frame_kind::step, led_view_, step.slot);
  header.version = step.version;
  header.worker = step.rank;
  header.clock = step.clock;
  header.request = step.team;
  if (step.skips) {
    header.flags = runtime::frame_flag_skip;
    return shell_.send_plain(*replica_, header);
  }
  header.payload_bytes = shell_.chunk_bytes(step.slot);
  shell_.send_step(*replica_, header, step);
}

void replication_core::replicate_farewell(const effects::replicate_farewell& farewell) {
  if (replica_) send_farewell(farewell_of(farewell.job, farewell.rank));
}

void replication_core::send_farewell(const farewell_name& name) {
  farewells_.try_emplace(name);
  frame_header header;
  header.kind = frame_kind::farewell;
  header.job = name.job;
  header.epoch = led_view_;
  header.worker = name.rank;
  header.clock = name.since;
  header.chunk = runtime::whole_job;
  shell_.send_plain(*replica_, header);
}

void replication_core::followed(const effects::followed& followed) {
  if (!follows_) return;
  followed_.push_back(followed);
  shell_.post_soon();
}

void replication_core::tick(std::int64_t now) {
  if (!replica_) return;
  for (auto& [slot, transfer] : under_way_) {
    if (!transfer.again.is_over(now, patience_)) continue;
    TIDEGATE_RARE("shard: a step is handed to the replica again");
    send(transfer, true);
  }
  for (auto& [table, loan] : lending_)
    if (loan.again.is_over(now, patience_)) send_lend(loan.job, table);
  for (auto& [name, again] : farewells_)
    if (again.is_over(now, patience_)) send_farewell(name);
}

bool replication_core::is_mine(const frame_header& header) {
  return header.kind == frame_kind::step || header.kind == frame_kind::seed ||
         header.kind == frame_kind::farewell || header.kind == frame_kind::followed ||
         header.kind == frame_kind::lend || header.kind == frame_kind::lent ||
         header.kind == frame_kind::steps ||
         ((header.kind == frame_kind::resend || header.kind == frame_kind::resent) &&
          header.job == 0);
}

shard_core::followed_step replication_core::step_of(const frame_header& header) {
  return {header.job,
          header.table,
          header.chunk,
          header.version,
          header.worker,
          header.clock,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(header.request, all_ranks))};
}

// Also to one that was the primary before and may not know. What comes from the one before that
// one, which is out, is not for its ears.
void replication_core::answer(const frame_header& header, refusal code) {
  auto reply = header;
  reply.kind = frame_kind::followed;
  reply.flags = 0;
  reply.payload_bytes = 0;
  reply.code = static_cast<std::uint32_t>(code);
  if (primary_ && header.epoch >= followed_since_) shell_.send_plain(*primary_, reply);
}

bool replication_core::place(const frame_header& header) {
  if (header.epoch != view_ || !follows_) {
    answer(header, refusal::stale_epoch);
    return false;
  }
  if (header.kind == frame_kind::lend) return true;
  const bool seeds = header.kind == frame_kind::seed;
  const auto judged = seeds
                          ? shard_.follower().begin_seed(step_of(header))
                          : shard_.follower().begin_step(step_of(header), header.payload_bytes);
  if (judged.kind == push_admission::verdict::refuse) answer(header, judged.code);
  lacks_table_ = lacks_table_ || is_not_told(judged.code);
  return judged.kind == push_admission::verdict::take;
}

void replication_core::frame_lost(const frame_header& header) {
  // One of a view that is over has no place any more.
  if (header.kind == frame_kind::lend || header.epoch != view_ || !follows_) return;
  shard_.follower().cancel(step_of(header));
  // The primary may believe that it is here.
  send_resend(neighbour::primary, frame_kind::resend, 0);
}

void replication_core::frame(const frame_header& header, payload_handle payload) {
  if (header.kind == frame_kind::resend || header.kind == frame_kind::resent)
    return on_resend(header);
  if (header.kind == frame_kind::lent) return on_lent(header);
  if (header.kind == frame_kind::followed)
    return header.count > 0 && header.code == 0 ? on_followed_run(header) : on_followed(header);
  if (header.epoch != view_ || !follows_) {
    if (payload != no_payload) shell_.release_payload(payload);
    return answer(header, refusal::stale_epoch);
  }
  if (header.kind == frame_kind::farewell) return on_farewell(header);
  if (header.kind == frame_kind::lend) return on_lend(header, payload);
  if (header.kind == frame_kind::steps) return on_steps(header);
  auto& out = front_.pending(header.job, header.table);
  if (header.kind == frame_kind::step) {
    shard_.follower().follow(step_of(header), payload, out);
    return front_.carry_out();
  }
  const auto slot = shard_.registry().find_slot(header.job, header.table, header.chunk);
  TIDEGATE_ASSERT(slot.has_value(), "place() has found the chunk");
  auto taken = shell_.take_seed(*slot, payload);
  if (!taken) {
    shard_.follower().cancel(step_of(header));
    return answer(header, refusal::wrong_size);
  }
  shard_.follower().follow_seed(step_of(header), *taken, out);
  front_.carry_out();
}

void replication_core::on_farewell(const frame_header& header) {
  shard_.follower().follow_farewell(header.job, header.worker, header.clock);
  const farewell_name name{header.job, header.worker, header.clock};
  if (!replica_) return answer_farewell(name);
  owed_.insert(name);
  send_farewell(name);
}

void replication_core::answer_farewell(const farewell_name& name) {
  frame_header header;
  header.job = name.job;
  header.epoch = view_;
  header.worker = name.rank;
  header.clock = name.since;
  header.chunk = runtime::whole_job;
  answer(header, refusal::none);
}

void replication_core::on_followed(const frame_header& header) {
  if (header.epoch != led_view_ || !replica_) return;
  const auto code = static_cast<refusal>(header.code);
  if (code == refusal::stale_epoch) {
    if (runtime::is_planted(runtime::planted_bug::old_primary_still_serves))
      return lead_nobody(led_view_);
    return shell_.replaced(led_view_);
  }
  if (header.chunk == runtime::whole_job) {
    const farewell_name name{header.job, header.worker, header.clock};
    farewells_.erase(name);
    if (owed_.erase(name) > 0) answer_farewell(name);
    if (name == farewell_of(header.job, header.worker))
      front_.about_job(header.job, [&](auto& out) {
        shard_.replication().farewell_replicated(header.job, header.worker, out);
      });
    return tell_in_sync();
  }
  if (code != refusal::none) return;
  // Made before, or handed over before: told as a run of one.
  const auto slot = shard_.registry().find_slot(header.job, header.table, header.chunk);
  if (!slot) return;
  auto run = header;
  run.chunk = shard_.registry().index_of(*slot);
  run.count = 1;
  on_followed_run(run);
}

}  // namespace tidegate::policies
