// What an exchange costs on the wire, over UCX: frames by kind, and payload that we copy.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::tests {
namespace {

struct totals {
  std::array<std::atomic<std::uint64_t>, runtime::frame_kind_last + 1> posted{};
  std::atomic<std::uint64_t> messages{0};
  std::atomic<bool> gate{true};  // closed: nothing moves that was posted
  std::mutex mutex;
  std::vector<std::uint32_t> pushed;  // tables, as posted
  std::atomic<std::uint64_t> payload_received{0};
  std::atomic<std::uint64_t> payload_copied{0};

  std::uint64_t of(runtime::frame_kind kind) const {
    return posted[static_cast<std::size_t>(kind)];
  }
};

// Passes everything on and counts.
class counting_link final : public runtime::link {
 public:
  counting_link(std::unique_ptr<runtime::link> inner, totals& all)
      : inner_(std::move(inner)), all_(all) {}
  ~counting_link() override {
    all_.payload_received += inner_->counters().payload_bytes_received;
    all_.payload_copied += inner_->counters().payload_bytes_copied;
  }

  void set_sink(runtime::frame_sink* sink) override { inner_->set_sink(sink); }
  std::string address() const override { return inner_->address(); }
  runtime::expected<runtime::peer_id> connect(std::string_view address,
                                              runtime::reach where) override {
    return inner_->connect(address, where);
  }
  void disconnect(runtime::peer_id peer) override { inner_->disconnect(peer); }
  void post(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, runtime::send_token token) override {
    ++all_.messages;
    count(header);
    inner_->post(peer, header, payload, token);
  }
  void post_bundle(runtime::peer_id peer, std::span<const runtime::outgoing> frames) override {
    ++all_.messages;
    for (const auto& frame : frames) count(frame.header);
    inner_->post_bundle(peer, frames);
  }
  std::size_t bundle_frames_most() const override { return inner_->bundle_frames_most(); }
  unsigned progress() override { return all_.gate ? inner_->progress() : 0; }
  int event_fd() const override { return inner_->event_fd(); }
  bool arm() override { return inner_->arm(); }
  void close(std::uint32_t flush_ms_max) override { inner_->close(flush_ms_max); }
  std::shared_ptr<runtime::memory_source> memory() override { return inner_->memory(); }
  const runtime::link_counters& counters() const override { return inner_->counters(); }

 private:
  void count(const runtime::frame_header& header) {
    ++all_.posted[static_cast<std::size_t>(header.kind)];
    if (header.kind != runtime::frame_kind::push) return;
    const std::lock_guard lock(all_.mutex);
    all_.pushed.push_back(header.table);
  }

  std::unique_ptr<runtime::link> inner_;
  totals& all_;
};

constexpr std::uint64_t clocks = 6;
constexpr std::uint32_t workers = 3;
constexpr std::uint32_t shards = 2;
constexpr std::uint64_t chunk_bytes = 64 << 10;
constexpr std::uint64_t chunks = 9;

class exchange_frames_test : public session_test {
 protected:
  // All payload is sent, over UCX.
  local_cluster make_cluster(std::uint32_t shard_count, std::uint32_t worker_count) {
    return {small_cluster(shard_count, worker_count, {consistency_kind::bsp, 0}, chunk_bytes),
            [this]() -> runtime::expected<std::unique_ptr<runtime::link>> {
              auto link = runtime::make_ucx_link();
              if (!link) return link;
              return std::make_unique<counting_link>(std::move(*link), all_);
            },
            false};
  }
  static void exchange_and_look(session& s);

  totals all_;
};

void exchange_frames_test::exchange_and_look(session& s) {
  const auto t = open(s, chunks * chunk_bytes / sizeof(float), 1.0F);
  for (std::uint64_t c = 0; c < clocks; ++c) {
    const auto gradient = s.gradient(t);
    std::fill(gradient.begin(), gradient.end(), 1.0F);
    const auto done = s.exchange(std::array{t});
    ASSERT_TRUE(done.ok()) << done.to_string();
    const auto expected = 1.0F - 0.5F * static_cast<float>(c + 1);
    for (const float value : s.parameters(t)) ASSERT_EQ(value, expected);
  }
  EXPECT_TRUE(s.finish().ok());
}

TEST_F(exchange_frames_test, two_a_chunk_and_no_copy) {
  {
    auto cluster = make_cluster(shards, workers);
    cluster.run_workers("job", exchange_and_look);
    EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
  }
  using runtime::frame_kind;
  const auto each = workers * chunks * clocks;
  const auto last_pulls = chunks;  // rank 0 hashes the parameters
  EXPECT_EQ(all_.of(frame_kind::push), each);
  EXPECT_EQ(all_.of(frame_kind::pull_reply), each + last_pulls);
  EXPECT_EQ(all_.of(frame_kind::push_ack), std::uint64_t{workers * shards}) << "to farewells";
  EXPECT_EQ(all_.of(frame_kind::pull), last_pulls);
  EXPECT_EQ(all_.payload_received, (2 * each + last_pulls) * chunk_bytes);
  EXPECT_EQ(all_.payload_copied, 0U);
}

// Biases and norms: hundreds of tables of a few KiB.
TEST_F(exchange_frames_test, small_tables_share_messages) {
  constexpr std::uint64_t many = 200;
  const auto elements = [](std::uint64_t t) { return (t % 16 + 1) * 1024 / sizeof(float); };
  std::uint64_t bytes = 0;        // of all tables
  std::uint64_t bytes_eager = 0;  // of those that are copied even when they go alone
  for (std::uint64_t t = 0; t < many; ++t) {
    const auto number = elements(t) * sizeof(float);
    bytes += number;
    if (number <= 8192) bytes_eager += number;
  }
  std::uint64_t sent = 0;
  {
    auto cluster = make_cluster(1, 1);
    cluster.run_workers("job", [&](session& s) {
      tidegate::table_options options;
      options.init_constant = 1.0F;
      std::vector<tidegate::table> tables;
      for (std::uint64_t t = 0; t < many; ++t)
        tables.push_back(*s.open_table("t" + std::to_string(t), {elements(t)}, options));
      const auto before = all_.messages.load();
      for (std::uint64_t c = 1; c <= clocks; ++c) {
        for (const auto& t : tables) std::ranges::fill(s.gradient(t), static_cast<float>(t.id));
        const auto done = s.exchange(tables);
        ASSERT_TRUE(done.ok()) << done.to_string();
        for (const auto& t : tables) {
          const auto expected = 1.0F - 0.5F * static_cast<float>(c * t.id);
          for (const float value : s.parameters(t)) ASSERT_EQ(value, expected) << t.id;
        }
      }
      sent = all_.messages - before;
      EXPECT_TRUE(s.finish().ok());
    });
    EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
  }
  using runtime::frame_kind;
  EXPECT_EQ(all_.of(frame_kind::push), many * clocks);
  EXPECT_EQ(all_.of(frame_kind::pull_reply), many * (clocks + 1)) << "rank 0 hashes them";
  // Seven bundles hold the bytes of a direction; who is late makes more.
  EXPECT_LT(sent, 2 * many * clocks / 8);
  EXPECT_EQ(all_.payload_received, (2 * clocks + 1) * bytes);
  EXPECT_GE(all_.payload_copied, (2 * clocks + 1) * bytes_eager);
  EXPECT_LE(all_.payload_copied, all_.payload_received);
}

// Backpropagation makes the last layer's gradient first; the next clock needs the first layer's
// parameters first.
TEST_F(exchange_frames_test, an_early_table_overtakes_the_chunks_of_a_late_one) {
  constexpr std::uint64_t late_chunks = 200;  // more than may be on the way
  auto cluster = make_cluster(1, 1);
  cluster.run_workers("job", [&](session& s) {
    const auto early = *s.open_table("early", {16});
    const auto late = *s.open_table("late", {late_chunks * chunk_bytes / sizeof(float)});
    const floats small(early.size, 1.0F);
    const floats large(late.size, 1.0F);
    all_.gate = false;
    auto first = s.push(late, large);
    const auto before = all_.of(runtime::frame_kind::push);
    auto second = s.push(early, small);
    all_.gate = true;
    EXPECT_GT(before, 1U);
    EXPECT_LT(before, late_chunks);
    EXPECT_TRUE(first.wait().ok());
    EXPECT_TRUE(second.wait().ok());
    EXPECT_TRUE(s.clock().ok());
    EXPECT_TRUE(s.finish().ok());
    ASSERT_EQ(all_.pushed.size(), late_chunks + 1);
    EXPECT_EQ(all_.pushed[before], early.id);
  });
}

// What an exchange allocates is of the call; frames allocate nothing.
TEST_F(exchange_frames_test, chunks_allocate_nothing_once_warm) {
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t many : {4, 400}) {
    auto cluster = make_cluster(1, 1);
    cluster.run_workers("job", [&](session& s) {
      const auto t = open(s, many * chunk_bytes / sizeof(float));
      constexpr int warm = 20;
      for (int i = 0; i < warm; ++i) ASSERT_TRUE(s.exchange(std::array{t}).ok());
      const auto before = allocations();
      for (int i = 0; i < warm; ++i) ASSERT_TRUE(s.exchange(std::array{t}).ok());
      counts.push_back((allocations() - before) / warm);
      EXPECT_TRUE(s.finish().ok());
    });
  }
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_LT(counts[1], counts[0] + 40) << "a tenth of one a chunk, for progress reports";
}

}  // namespace
}  // namespace tidegate::tests
