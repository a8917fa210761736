// Workers that do their worst with the version buffers of a chunk: they mix rings and frames,
// pull without end, and take ages to receive what they pulled. Nobody reads a version buffer
// that is written, and a chunk never needs more version buffers than version_buffers_max says,
// which are what its memory has.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/rng.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

using doorbell_reply = shard_effects::doorbell_reply;
constexpr payload_handle gradient = 1;
constexpr std::uint32_t table = 5;
constexpr int steps = 20'000;

// One chunk, and what is read of it.
class hostile_world {
 public:
  hostile_world(std::uint64_t seed, std::uint32_t workers)
      : random_(seed), clocks_(workers), incarnations_(workers, 1), leases_(workers, none) {}

  void open(bool relays, consistency_kind kind, bool replicated) {
    const auto workers = static_cast<std::uint32_t>(clocks_.size());
    is_bsp_ = kind == consistency_kind::bsp;
    std::vector<std::uint32_t> members;
    for (std::uint32_t rank = 0; rank < workers; ++rank) members.push_back(rank);
    if (relays)
      core_.admin().open_relay(job,
                               {.epoch = epoch,
                                .workers = workers,
                                .consistency = {kind, 0},
                                .workers_come_back = true,
                                .members = members,
                                .replicated = false},
                               1);
    else
      core_.admin().open_job(job, {.epoch = epoch,
                                   .workers = workers,
                                   .consistency = {kind, 0},
                                   .workers_come_back = true,
                                   .members = {},
                                   .replicated = replicated});
    core_.admin().open_table(
        job, table,
        std::vector<chunk_place>{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
    for (const auto rank : members)
      EXPECT_EQ(core_.admin().admit_worker(job, rank, 1), reply_code::ok);
  }

  // One thing that a worker, or the link, may do.
  void step() {
    const auto rank = random_.below(static_cast<std::uint32_t>(clocks_.size()));
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return push(rank);
      case 5:
        return finish_send();
      case 6:
        if (random_.below(8) == 0) return replace(rank);
        [[fallthrough]];
      case 7:
        return call(rank);
      default:
        return pull(rank, random_.below(2) == 0);
    }
  }
  // What a relay has asked for upstream comes, or part of it until its sender dies.
  void receive() {
    const auto* asked = core_.relay().asked(0);
    if (!asked) return;
    write(core_.relay().begin_pulled(0));
    if (random_.below(4) == 0) {
      core_.relay().cancel_pulled(0);
      write(core_.relay().begin_pulled(0));
    }
    shard_effects out;
    const auto version = is_bsp_ ? asked->clock : ++version_;
    core_.relay().pulled(0, reply_code::ok, version, 0, out);
    see(out);
  }

  std::uint32_t version_buffers() const { return version_buffers_; }  // used so far

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  struct sending {
    std::uint32_t rank = 0;
    std::uint32_t version_buffer = 0;
  };

  frame_tag tag_at(std::uint32_t rank, std::uint64_t clock) {
    return {.job = job,
            .epoch = epoch,
            .incarnation = incarnations_[rank],
            .rank = rank,
            .table = table,
            .chunk = 0,
            .clock = clock,
            .request = ++request_};
  }
  void push(std::uint32_t rank) {
    const auto clock = clocks_[rank];
    const auto tag = tag_at(rank, clock);
    if (core_.begin_push(tag, 32).kind != push_admission::verdict::take) return;
    ++clocks_[rank];
    leases_[rank] = none;  // who pushes reads no more
    shard_effects out;
    if (random_.below(2) == 0)
      core_.push(tag, gradient, out);
    else
      core_.doorbell(tag, {.push = true, .skip = false, .pull = false, .is_final = false},
                     std::vector<payload_handle>{gradient}, out);
    see(out);
  }
  void pull(std::uint32_t rank, bool in_place) {
    shard_effects out;
    const auto tag = tag_at(rank, clocks_[rank]);
    if (in_place)
      core_.doorbell(tag, {.push = false, .skip = false, .pull = true, .is_final = false}, {},
                     out);
    else
      core_.pull(tag, false, out);
    leases_[rank] = none;
    see(out);
  }
  // The lease stays.
  void call(std::uint32_t rank) {
    shard_effects out;
    const auto tag = tag_at(rank, clocks_[rank]);
    if (core_.begin_call(tag, runtime::call_payload_bytes).kind !=
        push_admission::verdict::take)
      return;
    core_.call(tag, gradient, false, out);
    see(out);
  }
  void replace(std::uint32_t rank) {
    EXPECT_EQ(core_.admin().admit_worker(job, rank, ++incarnations_[rank]), reply_code::ok);
    leases_[rank] = none;
  }
  void finish_send() {
    if (sends_.empty()) return;
    const auto at = sends_.begin() + random_.below(static_cast<std::uint32_t>(sends_.size()));
    core_.sent(0, at->rank, at->version_buffer);
    sends_.erase(at);
  }
  void write(std::uint32_t version_buffer) {
    version_buffers_ = std::max(version_buffers_, version_buffer + 1);
    for (const auto& send : sends_)
      ASSERT_NE(send.version_buffer, version_buffer) << "of a reply on its way";
    for (const auto lease : leases_) ASSERT_NE(lease, version_buffer) << "read in place";
  }
  void see(const shard_effects& out) {
    for (const auto& effect : out.list) {
      if (const auto* step = std::get_if<apply>(&effect)) write(step->to);
      if (const auto* entry = std::get_if<reply>(&effect);
          entry && entry->code == reply_code::ok)
        sends_.push_back({entry->tag.rank, entry->where.version_buffer});
      if (const auto* candidate = std::get_if<doorbell_reply>(&effect);
          candidate && candidate->code == reply_code::ok)
        leases_[candidate->tag.rank] = candidate->where.version_buffer;
      if (const auto* sum = std::get_if<shard_effects::hand_on>(&effect)) {
        shard_effects answer;
        core_.relay().handed_on(0, sum->clock, reply_code::ok, false, answer);
        see(answer);
      }
    }
  }

  runtime::rng random_;
  shard_core core_;
  std::vector<std::uint64_t> clocks_;
  std::vector<std::uint32_t> incarnations_;
  std::vector<std::uint32_t> leases_;
  std::vector<sending> sends_;
  std::uint64_t request_ = 0;
  std::uint64_t version_ = 0;
  std::uint32_t version_buffers_ = 1;
  bool is_bsp_ = false;
};

// The most version buffers that any of these worlds used.
std::uint32_t version_buffers_used(std::uint32_t workers, bool relays, consistency_kind kind,
                                   bool replicated = false) {
  std::uint32_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    hostile_world world(seed, workers);
    world.open(relays, kind, replicated);
    for (int i = 0; i < steps; ++i) {
      world.step();
      if (relays) world.receive();
    }
    most = std::max(most, world.version_buffers());
  }
  return most;
}

constexpr auto async = consistency_kind::async;
constexpr auto bsp = consistency_kind::bsp;  // keeps the version before

TEST(chunk_versions, a_shard_has_as_many_as_it_ever_needs) {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    EXPECT_EQ(version_buffers_used(workers, false, bsp, true), version_buffers_max(workers) - 1)
        << "of " << workers << " workers; the current version is one of those that are read";
    EXPECT_EQ(version_buffers_used(workers, false, bsp), version_buffers_max(workers) - 2)
        << "one is kept";
    EXPECT_EQ(version_buffers_used(workers, false, async), version_buffers_max(workers) - 3);
  }
}

TEST(chunk_versions, an_aggregator_has_as_many_as_it_ever_needs) {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    EXPECT_EQ(version_buffers_used(workers, true, bsp), version_buffers_max(workers) - 1)
        << workers << " workers";
    EXPECT_EQ(version_buffers_used(workers, true, async), version_buffers_max(workers) - 2);
  }
}

}  // namespace
}  // namespace tidegate::policies
