// Workers that do their worst with the planes of a chunk: they mix rings and frames, pull
// without end, and take ages to receive what they pulled. Nobody reads a plane that is written,
// and a chunk never needs more planes than planes_max says, which are what its memory has.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"
#include "runtime/base/rng.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

using ring_reply = shard_effects::ring_reply;
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
      core_.admin().open_relay(job, {epoch, workers, {kind, 0}, true, members, false}, 1);
    else
      core_.admin().open_job(job, {epoch, workers, {kind, 0}, true, {}, replicated});
    core_.admin().open_table(job, table, std::vector<chunk_place>{{0, 0, 0, 8}});
    for (const auto rank : members)
      EXPECT_EQ(core_.admin().admit_worker(job, rank, 1), refusal::none);
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
    core_.relay().pulled(0, refusal::none, version, 0, out);
    see(out);
  }

  std::uint32_t planes() const { return planes_; }  // used so far

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  struct sending {
    std::uint32_t rank = 0;
    std::uint32_t plane = 0;
  };

  frame_tag tag_at(std::uint32_t rank, std::uint64_t clock) {
    return {job, epoch, incarnations_[rank], rank, table, 0, clock, ++request_};
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
      core_.ring(tag, {true, false, false, false}, std::vector<payload_handle>{gradient}, out);
    see(out);
  }
  void pull(std::uint32_t rank, bool rings) {
    shard_effects out;
    const auto tag = tag_at(rank, clocks_[rank]);
    if (rings)
      core_.ring(tag, {false, false, true, false}, {}, out);
    else
      core_.pull(tag, false, out);
    leases_[rank] = none;
    see(out);
  }
  void replace(std::uint32_t rank) {
    EXPECT_EQ(core_.admin().admit_worker(job, rank, ++incarnations_[rank]), refusal::none);
    leases_[rank] = none;
  }
  void finish_send() {
    if (sends_.empty()) return;
    const auto at = sends_.begin() + random_.below(static_cast<std::uint32_t>(sends_.size()));
    core_.sent(0, at->rank, at->plane);
    sends_.erase(at);
  }
  void write(std::uint32_t plane) {
    planes_ = std::max(planes_, plane + 1);
    for (const auto& send : sends_) ASSERT_NE(send.plane, plane) << "of a reply on its way";
    for (const auto lease : leases_) ASSERT_NE(lease, plane) << "read in place";
  }
  void see(const shard_effects& out) {
    for (const auto& effect : out.list) {
      if (const auto* step = std::get_if<apply>(&effect)) write(step->to);
      if (const auto* entry = std::get_if<reply>(&effect);
          entry && entry->code == refusal::none)
        sends_.push_back({entry->tag.rank, entry->where.plane});
      if (const auto* candidate = std::get_if<ring_reply>(&effect);
          candidate && candidate->code == refusal::none)
        leases_[candidate->tag.rank] = candidate->where.plane;
      if (const auto* sum = std::get_if<shard_effects::hand_on>(&effect)) {
        shard_effects answer;
        core_.relay().handed_on(0, sum->clock, refusal::none, false, answer);
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
  std::uint32_t planes_ = 1;
  bool is_bsp_ = false;
};

// The most planes that any of these worlds used.
std::uint32_t planes_used(std::uint32_t workers, bool relays, consistency_kind kind,
                          bool replicated = false) {
  std::uint32_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    hostile_world world(seed, workers);
    world.open(relays, kind, replicated);
    for (int i = 0; i < steps; ++i) {
      world.step();
      if (relays) world.receive();
    }
    most = std::max(most, world.planes());
  }
  return most;
}

constexpr auto async = consistency_kind::async;
constexpr auto bsp = consistency_kind::bsp;  // keeps the version before

TEST(chunk_versions, a_shard_has_as_many_as_it_ever_needs) {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    EXPECT_EQ(planes_used(workers, false, bsp, true), planes_max(workers) - 1)
        << "of " << workers << " workers; the current version is one of those that are read";
    EXPECT_EQ(planes_used(workers, false, bsp), planes_max(workers) - 2) << "one is kept";
    EXPECT_EQ(planes_used(workers, false, async), planes_max(workers) - 3);
  }
}

TEST(chunk_versions, an_aggregator_has_as_many_as_it_ever_needs) {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    EXPECT_EQ(planes_used(workers, true, bsp), planes_max(workers) - 1)
        << workers << " workers";
    EXPECT_EQ(planes_used(workers, true, async), planes_max(workers) - 2);
  }
}

}  // namespace
}  // namespace tidegate::policies
