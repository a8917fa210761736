// A shard in the middle of a job gets frames it never should: each is refused, counted, and the job's
// bits are what they would have been.
#include <algorithm>
#include <atomic>

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using policies::consistency_kind;
using runtime::frame_header;
using runtime::frame_kind;

struct nobody final : runtime::frame_sink {
  runtime::buffer place(const frame_header&) override { return {}; }
  void on_frame(const frame_header&, runtime::buffer) override {}
  void on_sent(runtime::send_token, const runtime::status&) override {}
  void on_bad_frame(const runtime::status&) override {}
  void on_peer_lost(runtime::peer_id, const runtime::status&) override {}
};

std::string run(bool hostile) {
  runtime::loopback_network network;
  local_cluster cluster(small_cluster(1, 2, {consistency_kind::bsp, 0}), [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
  auto attacker = network.make_link();
  nobody sink;
  attacker->set_sink(&sink);
  const auto shard = attacker->connect(cluster.shard_address(0));
  EXPECT_TRUE(shard);
  const auto job_token = runtime::stream_key(cluster.token(), "job");

  const auto attack = [&](std::uint64_t clock) {
    std::vector<std::byte> payload(64, std::byte{0x7f});
    const auto send = [&](auto change) {
      frame_header header;
      header.job = job_token;
      header.epoch = 1;
      header.incarnation = 1;
      header.clock = clock;
      header.payload_bytes = payload.size();
      change(header);
      const auto bytes = std::span(payload).first(
          std::min<std::size_t>(payload.size(), header.payload_bytes));
      attacker->post(*shard, header, bytes, 0);
    };
    send([](auto& h) { h.job = 1; });
    send([](auto& h) { h.epoch = 0; });
    send([](auto& h) { h.epoch = 99; });
    send([](auto& h) { h.worker = 2; });
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
  };

  workload_options work;
  work.clocks = 8;
  work.pause_us_max = 500;
  std::atomic<bool> running{true};
  std::thread attacks([&] {
    for (std::uint64_t clock = 0; hostile && running; clock = (clock + 1) % 8) {
      attack(clock);
      attacker->progress();
      std::this_thread::yield();
    }
  });
  cluster.run_workers("job", [&](actors::session& s) {
    const auto done = run_workload(s, work);
    EXPECT_TRUE(done.ok()) << done.to_string();
  });
  running = false;
  attacks.join();
  return cluster.status().jobs[0].parameters_sha256;
}

TEST(hostile_frames, change_nothing) {
  const auto quiet = run(false);
  ASSERT_EQ(quiet.size(), 64u);
  EXPECT_EQ(run(true), quiet);
}

}  // namespace
}  // namespace tidegate::tests
