// Random worlds of one aggregator between members and a shard: every frame may be late, early
// or doubled. Whatever the order, each update is applied once, and pulls hold what the policy
// promises.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/aggregator/core.hpp"
#include "policies/model/clock_vector.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

constexpr std::uint64_t job = 7;
constexpr std::uint32_t table = 3;
constexpr std::uint64_t forever = clock_vector::infinity;

using update = std::pair<std::uint32_t, std::uint64_t>;  // rank, clock
using updates = std::set<update>;

// Ranks 0 to 2 are members of the aggregator and hand on as {0, 1} and {2}; rank 3 pushes to
// the shard itself. One chunk.
class world {
 public:
  static constexpr std::uint32_t workers = 4;
  static constexpr std::uint64_t clocks = 7;

  world(const consistency_spec& consistency, std::uint64_t seed)
      : spec_(consistency), random_(seed) {
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}};
    const std::vector<std::uint32_t> ranks{0, 2, 3};
    shard_.admin().open_job(job, {.epoch = 1,
                                  .workers = workers,
                                  .consistency = spec_,
                                  .workers_come_back = true,
                                  .members = ranks});
    shard_.admin().open_table(job, table, places);
    for (const std::uint32_t rank : {0u, 2u, 3u}) shard_.admin().admit_worker(job, rank, 1);
    group_.open_job({.token = job,
                     .epoch = 1,
                     .workers = workers,
                     .consistency = spec_,
                     .members = {0, 1, 2},
                     .nodes = {{0, 2}, {2, 3}},
                     .upstream_epochs = {1},
                     .workers_come_back = true,
                     .incarnation = 1,
                     .upstream_moves = false});
    group_.open_table(table, places);
    for (const std::uint32_t rank : {0u, 1u, 2u})
      group_.ingress().admin().admit_worker(job, rank, 1);
  }

  // Returns whether all came to their end.
  bool run() {
    for (std::uint32_t rank = 0; rank < workers; ++rank) next_pull(rank);
    for (int steps = 0; steps < 100'000 && !network_.empty(); ++steps) {
      const auto at = static_cast<std::size_t>(random_.below(network_.size()));
      std::swap(network_[at], network_.back());
      const auto frame = network_.back();
      if (random_.below(4) != 0) network_.pop_back();  // else it comes once more
      frame();
      if (testing::Test::HasFailure()) return false;
    }
    return std::all_of(states_.begin(), states_.end(),
                       [](const state& entry) { return entry.ended; }) &&
           applied_.size() == workers * clocks - skips();
  }

 private:
  struct state {
    std::uint64_t clock = 0;
    std::uint64_t request = 0;
    std::uint64_t acked = 0;  // clocks
    std::set<std::uint64_t> acks;
    bool waiting = false;  // for its pull
    bool saw_all = false;  // its last one
    bool ended = false;
  };

  // Every worker skips a clock, and clock 3 is nobody's.
  static bool skips(std::uint32_t rank, std::uint64_t clock) {
    return clock == 3 || clock == rank;
  }
  static std::size_t skips() {
    std::size_t count = 0;
    for (std::uint32_t rank = 0; rank < workers; ++rank)
      for (std::uint64_t clock = 0; clock < clocks; ++clock) count += skips(rank, clock);
    return count;
  }

  // Pulls of everything: everybody's last, and some on the way.
  static bool waits_for_all(std::uint32_t rank, std::uint64_t clock) {
    return clock == clocks || (rank == 0 && clock % 2 == 0) || (rank == 2 && clock == 5);
  }

  void send(std::function<void()> frame) { network_.push_back(std::move(frame)); }
  static frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint64_t request = 0) {
    return {.job = job,
            .epoch = 1,
            .incarnation = 1,
            .rank = rank,
            .table = table,
            .chunk = 0,
            .clock = clock,
            .request = request};
  }
  payload_handle keep(updates pairs) {
    payloads_[++last_payload_] = std::move(pairs);
    return last_payload_;
  }

  shard_core& home_of(std::uint32_t rank) { return rank < 3 ? group_.ingress() : shard_; }
  void carry_out(std::uint32_t rank, shard_effects& out) {
    rank < 3 ? carry_out_group(out) : carry_out_shard(out);
  }

  void next_pull(std::uint32_t rank) {
    auto& me = states_[rank];
    if (me.saw_all) return finish(rank);
    const bool is_final = waits_for_all(rank, me.clock);
    me.waiting = true;
    const auto pull = tag(rank, me.clock, ++me.request);
    send([this, rank, pull, is_final] {
      shard_effects out;
      home_of(rank).pull(pull, is_final, out);
      carry_out(rank, out);
    });
  }

  void next_push(std::uint32_t rank) {
    auto& me = states_[rank];
    const auto push = tag(rank, me.clock++);
    send([this, rank, push] {
      shard_effects out;
      const auto payload = skips(rank, push.clock) ? no_payload : keep({{rank, push.clock}});
      home_of(rank).push(push, payload, out);
      carry_out(rank, out);
    });
    if (me.clock < me.acked + 2) next_pull(rank);  // else when it is acknowledged
  }

  void finish(std::uint32_t rank) {
    auto& me = states_[rank];
    if (me.acked < clocks || me.ended) return;
    me.ended = true;
    const auto farewell = tag(rank, clocks);
    send([this, rank, farewell] {
      shard_effects out;
      home_of(rank).finished(farewell, out);
      carry_out(rank, out);
      if (rank == 3) return;
      std::vector<upstream_frame> frames;
      group_.say_farewell(frames);
      for (const auto& frame : frames) post(frame, {});
    });
  }

  void on_ack(const frame_tag& of, reply_code code) {
    ASSERT_EQ(code, reply_code::ok);
    if (of.chunk == whole_table || of.clock >= clocks) return;  // of a farewell
    auto& me = states_[of.rank];
    me.acks.insert(of.clock);
    const bool waited = !me.waiting && me.clock >= me.acked + 2;
    while (me.acks.contains(me.acked)) ++me.acked;
    const bool may_go_on = me.clock < me.acked + 2;
    if (!me.waiting && ((waited && may_go_on) || me.saw_all)) next_pull(of.rank);
  }

  void on_reply(const frame_tag& of, const updates& held) {
    auto& me = states_[of.rank];
    if (!me.waiting || of.request != me.request) return;
    me.waiting = false;
    for (std::uint32_t other = 0; other < workers; ++other) {
      std::uint64_t due = 0;  // clocks that must be in
      if (spec_.kind == consistency_kind::bsp) due = me.clock;
      if (spec_.kind == consistency_kind::ssp)
        due = other == of.rank ? me.clock
                               : me.clock - std::min<std::uint64_t>(me.clock, spec_.staleness);
      if (waits_for_all(of.rank, me.clock)) due = me.clock;
      for (std::uint64_t clock = 0; clock < clocks; ++clock) {
        const bool in = held.contains({other, clock});
        const bool must = clock < due && !skips(other, clock);
        const bool may = must || spec_.kind != consistency_kind::bsp;
        ASSERT_TRUE(in ? may : !must) << "rank " << of.rank << " at clock " << me.clock
                                      << (in ? " has " : " lacks ") << other << "'s " << clock;
      }
    }
    if (me.clock < clocks) return next_push(of.rank);
    ASSERT_EQ(held.size(), workers * clocks - skips()) << "rank " << of.rank;
    me.saw_all = true;
    finish(of.rank);
  }

  void carry_out_shard(shard_effects& out) {
    for (const auto& effect : out.list) {
      if (const auto* step = std::get_if<shard_effects::apply>(&effect)) {
        for (std::uint32_t i = 0; i < step->count; ++i)
          for (const auto& pair : payloads_.at(out.inputs[step->first + i].payload))
            ASSERT_TRUE(applied_.insert(pair).second) << "applied twice";
      } else if (const auto* ack = std::get_if<shard_effects::acknowledge>(&effect)) {
        send([this, ack = *ack] { take_ack(ack.tag, ack.code); });
      } else if (const auto* reply = std::get_if<shard_effects::reply>(&effect)) {
        shard_.sent(reply->slot, reply->tag.rank, reply->where.version_buffer);
        ASSERT_EQ(reply->code, reply_code::ok);
        send([this, reply = *reply, held = applied_] {
          if (reply.tag.rank != 3) return take_reply(reply, held);
          if (reply.applied) on_ack(before(reply.tag), reply_code::ok);
          on_reply(reply.tag, held);
        });
      } else if (const auto* gone = std::get_if<shard_effects::release>(&effect)) {
        payloads_.erase(gone->payload);
      }
    }
  }

  static frame_tag before(frame_tag tag) {
    --tag.clock;
    return tag;
  }

  void take_ack(const frame_tag& of, reply_code code) {
    if (of.rank == 3) return on_ack(of, code);
    shard_effects next;
    group_.on_ack(of, code, next);
    carry_out_group(next);
  }

  void take_reply(const shard_effects::reply& reply, const updates& held) {
    const auto slot = group_.expects_reply(reply.tag);
    if (!slot) return;
    version_buffers_[group_.begin_reply(*slot)] = held;
    shard_effects next;
    group_.on_reply(reply.tag, reply_code::ok,
                    {.version = reply.where.version,
                     .min_clock = reply.where.min_clock,
                     .applied = reply.applied},
                    next);
    carry_out_group(next);
  }

  void carry_out_group(shard_effects& out) {
    for (const auto& effect : out.list) {
      std::vector<upstream_frame> frames;
      if (const auto* sum = std::get_if<shard_effects::hand_on>(&effect)) {
        const auto inputs = std::span(out.inputs).subspan(sum->first, sum->count);
        group_.hand_on(*sum, inputs, frames);
        for (const auto& frame : frames) post(frame, inputs);
      } else if (const auto* ask = std::get_if<shard_effects::ask>(&effect)) {
        group_.ask(*ask, frames);
        for (const auto& entry : frames) post(entry, {});
      } else if (const auto* ack = std::get_if<shard_effects::acknowledge>(&effect)) {
        send([this, ack = *ack] { on_ack(ack.tag, ack.code); });
      } else if (const auto* reply = std::get_if<shard_effects::reply>(&effect)) {
        ASSERT_EQ(reply->code, reply_code::ok);
        // Read where it lies until it is sent: a version buffer that is written meanwhile would
        // show.
        send([this, reply = *reply] {
          if (!sent_.insert({reply.tag.rank, reply.tag.request}).second) return;
          const auto held = version_buffers_.at(reply.where.version_buffer);
          group_.ingress().sent(reply.slot, reply.tag.rank, reply.where.version_buffer);
          if (reply.applied) on_ack(before(reply.tag), reply_code::ok);
          on_reply(reply.tag, held);
        });
      } else if (const auto* gone = std::get_if<shard_effects::release>(&effect)) {
        payloads_.erase(gone->payload);
      }
    }
  }

  void post(const upstream_frame& frame, std::span<const shard_effects::input> inputs) {
    using kind = upstream_frame::type;
    updates sum;
    for (const auto& input : inputs.subspan(frame.first, frame.count))
      sum.merge(updates(payloads_.at(input.payload)));
    send([this, frame, sum] {
      shard_effects out;
      if (frame.kind == kind::finished) shard_.finished(frame.tag, out);
      if (frame.kind == kind::pull) shard_.pull(frame.tag, frame.is_final, out);
      if (frame.kind == kind::push) shard_.push(frame.tag, keep(sum), out, frame.pulls);
      if (frame.kind == kind::skip) shard_.push(frame.tag, no_payload, out, frame.pulls);
      carry_out_shard(out);
    });
  }

  consistency_spec spec_;
  runtime::rng random_;
  shard_core shard_;
  aggregator_core group_;
  std::vector<std::function<void()>> network_;
  std::array<state, workers> states_;
  std::map<payload_handle, updates> payloads_;
  payload_handle last_payload_ = no_payload;
  updates applied_;
  std::map<std::uint32_t, updates> version_buffers_;  // of the group
  std::set<std::pair<std::uint32_t, std::uint64_t>> sent_;
};

class aggregator_world : public testing::TestWithParam<consistency_spec> {};

TEST_P(aggregator_world, applies_each_update_once_and_keeps_the_policys_promise) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    world entry(GetParam(), seed);
    ASSERT_TRUE(entry.run()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(policies, aggregator_world,
                         testing::Values(consistency_spec{consistency_kind::bsp, 0},
                                         consistency_spec{consistency_kind::ssp, 0},
                                         consistency_spec{consistency_kind::ssp, 2},
                                         consistency_spec{consistency_kind::async, 0}));

}  // namespace
}  // namespace tidegate::policies
