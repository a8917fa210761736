// What an exchange costs on the wire, over UCX: frames by kind, and payload that we copy.
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"
#include "tests/actors/session_fixture.hpp"

namespace tidegate::tests {
namespace {

struct totals {
  std::array<std::atomic<std::uint64_t>, runtime::frame_kind_last + 1> posted{};
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
  void post(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, runtime::send_token token) override {
    ++all_.posted[static_cast<std::size_t>(header.kind)];
    inner_->post(peer, header, payload, token);
  }
  unsigned progress() override { return inner_->progress(); }
  int event_fd() const override { return inner_->event_fd(); }
  bool arm() override { return inner_->arm(); }
  void close(std::uint32_t flush_ms_max) override { inner_->close(flush_ms_max); }
  std::shared_ptr<runtime::memory_source> memory() override { return inner_->memory(); }
  const runtime::link_counters& counters() const override { return inner_->counters(); }

 private:
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
  static void exchange(session& s);
};

void exchange_frames_test::exchange(session& s) {
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

TEST_F(exchange_frames_test, an_exchange_is_two_frames_a_chunk_and_no_copy) {
  totals all;
  {
    local_cluster cluster(
        small_cluster(shards, workers, {consistency_kind::bsp, 0}, chunk_bytes),
        [&]() -> runtime::expected<std::unique_ptr<runtime::link>> {
          auto made = runtime::make_ucx_link();
          if (!made) return made;
          return std::make_unique<counting_link>(std::move(*made), all);
        },
        false);
    cluster.run_workers("job", exchange);
    EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
  }
  using runtime::frame_kind;
  const auto each = workers * chunks * clocks;
  const auto last_pulls = chunks;  // rank 0 hashes the parameters
  EXPECT_EQ(all.of(frame_kind::push), each);
  EXPECT_EQ(all.of(frame_kind::pull_reply), each + last_pulls);
  EXPECT_EQ(all.of(frame_kind::push_ack), std::uint64_t{workers * shards}) << "to farewells";
  EXPECT_EQ(all.of(frame_kind::pull), last_pulls);
  EXPECT_EQ(all.payload_received, (2 * each + last_pulls) * chunk_bytes);
  EXPECT_EQ(all.payload_copied, 0U);
}

}  // namespace
}  // namespace tidegate::tests
