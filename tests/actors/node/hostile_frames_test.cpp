// A shard in the middle of a job gets frames it never should: each is refused, counted, and the
// job's bits are what they would have been.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "actors/reactor/peer_address.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/transport/loopback.hpp"
#include "runtime/transport/silent_sink.hpp"
#include "tests/support/local_cluster.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using policies::consistency_kind;
using runtime::frame_header;
using runtime::frame_kind;

// Sends a shard what it should never get. It even knows the job's token, and passes for a
// worker that is there but has finished: refusals that go to a rank must not reach one that
// trains.
class attacker {
 public:
  static constexpr std::uint32_t spoofed = 2;

  attacker(runtime::loopback_network& network, const std::string& shard, std::uint64_t job)
      : link_(network.make_link()), job_(job) {
    link_->set_sink(&sink_);
    const auto connected = link_->connect(actors::link_of(shard));
    EXPECT_TRUE(connected);
    shard_ = connected.value_or(0);
  }

  // One frame of every wrong kind; the payload is of a chunk's size, so that one thing alone is
  // wrong.
  void attack(std::uint64_t clock) {
    clock_ = clock;
    send([](auto& h) { h.job = 1; });
    send([](auto& h) { h.epoch = 0; });
    send([](auto& h) { h.epoch = 99; });
    send([](auto& h) { h.worker = 3; });
    send([](auto& h) { h.worker = 0xffffffff; });
    send([](auto& h) { h.incarnation = 7; });
    send([](auto& h) { h.table = 9999; });
    send([](auto& h) { h.chunk = 9999; });
    send([](auto& h) { h.payload_bytes = 4; });
    send([](auto& h) { h.clock += 2; });
    send([](auto& h) { h.clock = ~std::uint64_t{0}; });
    send([](auto& h) { h.kind = static_cast<frame_kind>(0); });
    send([](auto& h) { h.kind = static_cast<frame_kind>(200); });
    send([](auto& h) { h.flags = 0xfff0; });
    send([](auto& h) { h.kind = frame_kind::pull; });  // with a payload
    send([](auto& h) { h.kind = frame_kind::pull_reply; });
    send([](auto& h) { h.kind = frame_kind::push, h.payload_bytes = 0; });
    for (auto kind : {frame_kind::pull, frame_kind::skip, frame_kind::finished,
                      frame_kind::push_ack, frame_kind::pull_reply})
      send([&](auto& h) {
        h.kind = kind;
        h.payload_bytes = 0;
        h.incarnation = 9;
        h.code = kind == frame_kind::pull_reply ? 1 : 0;
      });
    ring();
    attach();
    link_->progress();
  }

 private:
  void ring() {
    const auto doorbell = [&](auto change) {
      send([&](auto& h) {
        h.kind = frame_kind::doorbell;
        h.flags = runtime::frame_flag_push | runtime::frame_flag_pull;
        h.payload_bytes = 0;
        change(h);
      });
    };
    doorbell([](auto& h) { h.job = 1; });
    doorbell([](auto& h) { h.epoch = 99; });
    doorbell([](auto& h) { h.worker = 3; });
    doorbell([](auto& h) { h.incarnation = 7; });
    doorbell([](auto& h) { h.table = 9999; });
    doorbell([](auto& h) { h.clock = ~std::uint64_t{0}; });
    doorbell([](auto& h) { h.table = runtime::whole_job, h.incarnation = 7; });
    doorbell([](auto& h) { h.flags = 0; });
    doorbell([](auto& h) { h.version_buffer = 2; });
    doorbell([](auto& h) { h.table = runtime::whole_job, h.version_buffer = 0xffff; });
    doorbell([](auto& h) { h.flags |= runtime::frame_flag_skip, h.clock += 99; });
    doorbell([](auto& h) { h.payload_bytes = 64; });
    for (auto kind :
         {frame_kind::doorbell_ack, frame_kind::doorbell_reply, frame_kind::attach_ack})
      doorbell([&](auto& h) { h.kind = kind, h.count = 5; });
  }

  // Places that are none: cut short, of nobody, of a file that is no memory, past an end.
  void attach() {
    const auto place = [&](const runtime::shm_handle& name, auto change) {
      const auto wire = runtime::encode(name);
      std::copy(wire.begin(), wire.end(), payload_.begin());
      send([&](auto& h) {
        h.kind = frame_kind::attach;
        h.payload_bytes = wire.size();
        change(h);
      });
    };
    const auto keep = [](auto&) {};
    const runtime::segment_name nobody{.pid = 0x7fff'fff0, .fd = 3, .inode = 1, .bytes = 4096};
    const runtime::segment_name terminal{
        .pid = static_cast<std::uint32_t>(::getpid()), .fd = 0, .inode = 1, .bytes = 4096};
    place({.segment = nobody, .copy_bytes = 4096, .offset = 0}, keep);
    place({.segment = terminal, .copy_bytes = 4096, .offset = 0}, keep);
    place({.segment = mine_->name(), .copy_bytes = mine_->size(), .offset = mine_->size() - 4},
          keep);
    place({.segment = mine_->name(), .copy_bytes = ~std::uint64_t{0}, .offset = 0}, keep);
    place({.segment = mine_->name(),
           .copy_bytes = mine_->size() / 2,
           .offset = ~std::uint64_t{3}},
          keep);
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 2}, keep);
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 0},
          [](auto& h) { h.payload_bytes = 39; });
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 0},
          [](auto& h) { h.payload_bytes = 41; });
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 0},
          [](auto& h) { h.incarnation = 7; });
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 0},
          [](auto& h) { h.worker = 3; });
    place({.segment = mine_->name(), .copy_bytes = mine_->size() / 2, .offset = 0},
          [](auto& h) { h.table = 9999; });
  }

  template <class Change>
  void send(Change change) {
    frame_header header;
    header.job = job_;
    header.epoch = 1;
    header.incarnation = 1;
    header.worker = spoofed;
    header.clock = clock_;
    header.payload_bytes = payload_.size();
    change(header);
    const auto size = std::min<std::size_t>(payload_.size(), header.payload_bytes);
    link_->post(shard_, header, std::span(payload_).first(size), 0);
  }

  runtime::silent_sink sink_;
  std::unique_ptr<runtime::link> link_;
  std::uint64_t job_;
  runtime::peer_id shard_ = 0;
  std::uint64_t clock_ = 0;
  runtime::expected<runtime::segment> mine_ = runtime::segment::create("attacker", 1 << 21);
  std::vector<std::byte> payload_ = std::vector<std::byte>(64, std::byte{0x7f});
};

std::string run(bool hostile, bool windows) {
  runtime::loopback_network network;
  local_cluster cluster(
      small_cluster(1, 3, {consistency_kind::bsp, 0}, 64),
      [&] { return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link()); },
      windows);
  attacker stranger(network, cluster.shard_address(0),
                    runtime::stream_key(cluster.token(), "job"));
  workload_options work;
  work.clocks = 8;
  work.pause_us_max = 500;
  std::atomic<bool> running{true};
  std::thread attacks([&] {
    // Bounded: a flood without end would measure the scheduler, not the shard.
    for (std::uint64_t round = 0; hostile && running && round < 200; ++round) {
      stranger.attack(round % 8);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  cluster.run_workers("job", [&](tidegate::session& s) {
    auto mine = work;
    if (s.info().rank == attacker::spoofed) mine.clocks = 0;
    const auto done = run_workload(s, mine);
    EXPECT_TRUE(done.ok()) << done.to_string();
  });
  running = false;
  attacks.join();
  return cluster.status().jobs[0].parameters_sha256;
}

TEST(hostile_frames, change_nothing) {
  const auto quiet = run(false, false);
  ASSERT_EQ(quiet.size(), 64u);
  EXPECT_EQ(run(true, false), quiet);
  EXPECT_EQ(run(true, true), quiet);
}

}  // namespace
}  // namespace tidegate::tests
