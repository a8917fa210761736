#include "policies/checkpoint/rounds.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

// A call must arrive before its clock does; 1024 clocks are some milliseconds at least.
constexpr std::uint64_t margin_max = 1U << 16U;

}  // namespace

// The clock of the next round; infinity: not yet.
std::uint64_t checkpoint_rounds::due_clock(std::int64_t now, std::uint64_t fastest) const {
  const auto ahead = fastest + margin_;
  if (last_ == last_round::wanted) return ahead;
  if (options_.every_clocks > 0)
    return (ahead / options_.every_clocks + 1) * options_.every_clocks;
  return now - last_began_ >= static_cast<std::int64_t>(options_.every_ms) * millisecond
             ? ahead
             : clock_vector::infinity;
}

bool checkpoint_rounds::advanced(std::int64_t now, std::uint64_t clock) {
  if (last_began_ < 0) last_began_ = now;
  known_ = std::max(known_, clock);
  if (is_too_far()) return true;
  return stage_ == stage::idle && !final_ && due_clock(now, known_) != clock_vector::infinity;
}

// The next one's clock is a multiple after this one's, or as long after its begin.
bool checkpoint_rounds::is_overdue(std::int64_t now) const {
  if (stage_ == stage::idle || final_) return false;
  if (options_.every_clocks > 0) return known_ >= clock_ + options_.every_clocks;
  return now - last_began_ >= static_cast<std::int64_t>(options_.every_ms) * millisecond;
}

void checkpoint_rounds::begin(std::int64_t now, const std::set<std::uint32_t>& shards,
                              checkpoint_effects& out) {
  if (is_too_far()) {
    TIDEGATE_RARE("checkpoint: a round is given up for the last one");
    end({errc::cancelled, "a last checkpoint is wanted before clock " + std::to_string(clock_)},
        out);
  }
  TIDEGATE_ASSERT(stage_ == stage::idle && !final_, "a round is due");
  if (shards.empty()) return;
  const auto clock = due_clock(now, known_);
  if (last_ == last_round::wanted) last_ = last_round::under_way;
  last_began_ = now;
  begin_round(clock, shards, out);
}

void checkpoint_rounds::finished(const std::set<std::uint32_t>& shards,
                                 checkpoint_effects& out) {
  if (final_) return;
  if (stage_ == stage::writing) {
    TIDEGATE_RARE("checkpoint: a job ends while a manifest is written");
    return;
  }
  if (stage_ != stage::idle) {
    TIDEGATE_RARE("checkpoint: a job ends during a round");
    end({errc::cancelled, "all workers have finished"}, out);
  }
  final_ = true;
  if (shards.empty())
    out.list.push_back(checkpoint_effects::ended{
        .id = {}, .clock = 0, .result = {}, .final = true});  // nothing to keep
  else
    begin_round(clock_vector::infinity, shards, out);
}

// Rounds begin long before their clock, which nobody waits for who is about to leave.
bool checkpoint_rounds::is_too_far() const {
  const bool waits = stage_ == stage::arming || stage_ == stage::collecting;
  return waits && last_ == last_round::wanted && !final_ && parts_.empty() &&
         clock_ > known_ + margin_;
}

void checkpoint_rounds::want_last() {
  if (last_ == last_round::none) last_ = last_round::wanted;
}

void checkpoint_rounds::begin_round(std::uint64_t clock, const std::set<std::uint32_t>& shards,
                                    checkpoint_effects& out) {
  stage_ = stage::beginning;
  clock_ = clock;
  shards_ = silent_ = writing_ = shards;
  again_ = false;
  missed_ = false;
  parts_.clear();
  cut_ = clock_vector::infinity;
  const auto full_every = std::min(options_.full_every, checkpoint_chain_max);
  base_ = deltas_ + 1 < full_every ? durable_ : checkpoint_id{};
  needs_base_ = false;
  out.list.push_back(checkpoint_effects::begin{.final = final_});
}

void checkpoint_rounds::begun(checkpoint_id id, checkpoint_effects& out) {
  if (stage_ != stage::beginning) return;
  id_ = id;
  stage_ = stage::arming;
  for (const auto shard : shards_)
    out.list.push_back(
        checkpoint_effects::ask{.shard = shard, .id = id, .clock = clock_, .base = base_});
}

void checkpoint_rounds::answered(std::uint32_t shard, checkpoint_id id, const status& result,
                                 std::uint64_t missed_at, checkpoint_effects& out) {
  if (stage_ != stage::arming || id != id_ || silent_.erase(shard) == 0) return;
  const bool still_writes = !result.ok() && final_ && result.code() == errc::unavailable;
  again_ = again_ || still_writes;
  if (!result.ok() && !still_writes) return end(result, out);
  if (result.ok() && missed_at != nothing_missed) {
    TIDEGATE_RARE("checkpoint: a shard has gone past the clock");
    missed_ = true;
    known_ = std::max(known_, missed_at);
  }
  if (!silent_.empty()) return;
  if (again_) return try_again(out);
  if (missed_) {
    margin_ = std::min(margin_ * 2, margin_max);
    return end({errc::out_of_order, "a shard had gone past clock " + std::to_string(clock_)},
               out);
  }
  stage_ = stage::collecting;
  if (parts_.size() == shards_.size()) write(out);
}

void checkpoint_rounds::write(checkpoint_effects& out) {
  stage_ = stage::writing;
  out.list.push_back(checkpoint_effects::write{.id = id_,
                                               .clock = cut_,
                                               .parts = parts_,
                                               .base = needs_base_ ? base_ : checkpoint_id{}});
}

// A part may come before the last shard has answered.
bool checkpoint_rounds::part(const checkpoint_report& report, checkpoint_effects& out) {
  writing_.erase(report.shard);
  if (again_) {
    try_again(out);
    return false;
  }
  const bool expected = stage_ == stage::arming || stage_ == stage::collecting;
  const auto known =
      std::any_of(parts_.begin(), parts_.end(),
                  [&](const checkpoint_part& part) { return part.shard == report.shard; });
  if (!expected || report.id != id_ || known || !shards_.contains(report.shard)) return false;
  if (!report.failure.empty()) {
    end({errc::io_error, report.failure}, out);
    return false;
  }
  parts_.push_back({report.shard, report.file, report.chunks});
  cut_ = std::min(cut_, report.clock);
  needs_base_ = needs_base_ || report.needs_base;
  if (stage_ == stage::collecting && parts_.size() == shards_.size()) write(out);
  return true;
}

// Not before all are done with what they write: else each would find another one writing.
void checkpoint_rounds::try_again(checkpoint_effects& out) {
  if (silent_.empty() && writing_.empty())
    begin_round(clock_, std::set<std::uint32_t>(shards_), out);
}

void checkpoint_rounds::written(checkpoint_id id, const status& result,
                                checkpoint_effects& out) {
  if (stage_ != stage::writing || id != id_) return;
  if (result.ok()) {
    durable_ = id;
    deltas_ = needs_base_ ? deltas_ + 1 : 0;
  }
  end(result, out);
}

void checkpoint_rounds::shard_moved(std::uint32_t shard, checkpoint_effects& out) {
  writing_.erase(shard);
  const bool has_part = std::any_of(parts_.begin(), parts_.end(),
                                    [&](const auto& part) { return part.shard == shard; });
  const bool asked = stage_ == stage::arming || stage_ == stage::collecting;
  if (again_) {
    silent_.erase(shard);
    return try_again(out);
  }
  if (!asked || has_part || !shards_.contains(shard)) return;
  TIDEGATE_RARE("checkpoint: a shard moves during a round");
  silent_.erase(shard);
  if (!final_)
    return end({errc::unavailable, "shard " + std::to_string(shard) + " has moved"}, out);
  again_ = true;
  try_again(out);
}

void checkpoint_rounds::end(status result, checkpoint_effects& out) {
  stage_ = stage::idle;
  if (last_ == last_round::under_way)
    last_ = result.ok() ? last_round::written : last_round::wanted;
  out.list.push_back(checkpoint_effects::ended{
      .id = id_, .clock = cut_, .result = std::move(result), .final = final_});
}

}  // namespace tidegate::policies
