// Sessions with tables on a device that is emulated: what is pushed and found, and what becomes
// of commands that wait for the device when something fails.
#include <array>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/emulated/emulated_device.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using runtime::devices::device;
using runtime::devices::emulated_device;
using runtime::devices::emulated_options;

constexpr const char* device_text = "emulated:3";
constexpr std::uint64_t elements = 1000;

class device_session_test : public session_test {
 protected:
  // A cluster whose sessions find this device.
  std::unique_ptr<local_cluster> cluster_of(std::uint32_t workers, bool shards_too = true,
                                            const emulated_options& options = {.index = 3}) {
    auto spec = small_cluster(1, workers, {consistency_kind::bsp, 0});
    if (shards_too) spec.device = device_text;
    auto cluster = std::make_unique<local_cluster>(spec, links());
    cluster->set_devices(
        [this, options](std::string_view) -> runtime::expected<std::unique_ptr<device>> {
          auto opened = std::make_unique<emulated_device>(options);
          on_ = opened.get();
          return opened;
        });
    return cluster;
  }
  static tidegate::table open_there(session& s, std::uint64_t size = elements) {
    EXPECT_TRUE(s.use_device({.name = device_text}).ok());
    tidegate::table_options options;
    options.optimizer = {.name = "sgd", .learning_rate = 1.0F};
    options.init_constant = 1.0F;
    auto table = s.open_table("t", {size}, options);
    EXPECT_TRUE(table) << table.error().to_string();
    return *table;
  }
  static void write(session& s, const tidegate::table& t, float value) {
    const auto room = s.device_gradient(t);
    ASSERT_TRUE(room) << room.error().to_string();
    ASSERT_TRUE(s.copy(*room, floats(t.size, value)).ok());
  }
  static floats read(session& s, const tidegate::table& t) {
    floats values(t.size);
    EXPECT_TRUE(s.copy(values, s.device_parameters(t)).ok());
    return values;
  }

  emulated_device* on_ = nullptr;  // of the session that opened one last
};

TEST_F(device_session_test, shard_and_worker_read_each_other_in_place) {
  const auto cluster = cluster_of(1);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  ASSERT_TRUE(s.pull(t).wait().ok());
  const auto* const brought = s.device_parameters(t).data;  // before the two know each other
  EXPECT_EQ(read(s, t), floats(elements, 1.0F));
  std::set<const float*> found;  // version buffers of the shard, which are used in turn
  for (int clock = 0; clock < 2000 && found.size() < 2; ++clock) {
    write(s, t, 1.0F);
    ASSERT_TRUE(s.exchange(std::array{t}).ok());
    EXPECT_EQ(read(s, t), floats(elements, -static_cast<float>(clock)));
    if (s.device_parameters(t).data != brought) found.insert(s.device_parameters(t).data);
  }
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(s.finish().ok());
}

TEST_F(device_session_test, a_table_there_has_nothing_on_the_host) {
  const auto cluster = cluster_of(1);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  EXPECT_TRUE(s.device_parameters(t).empty()) << "nothing was pulled";
  ASSERT_TRUE(s.pull(t).wait().ok());
  EXPECT_FALSE(s.device_parameters(t).empty());
  EXPECT_TRUE(s.parameters(t).empty() && s.parameter_stretches(t).empty());
  EXPECT_TRUE(s.gradient(t).empty());
  write(s, t, 1.0F);
  auto pushed = s.push(t);
  EXPECT_TRUE(s.device_parameters(t).empty()) << "the table was pushed";
  EXPECT_TRUE(pushed.wait().ok());
  floats three(3);
  expect(s.copy(three, s.device_parameters(t)), errc::invalid_argument, "as many");
  expect(s.use_device({.name = "emulated:4"}), errc::invalid_argument, "another");
  EXPECT_TRUE(s.clock().ok());
  EXPECT_TRUE(s.finish().ok());
}

TEST_F(device_session_test, ranges_of_a_table_there_are_refused) {
  const auto cluster = cluster_of(1);
  cluster->run_workers("job", [&](session& s) {
    const auto t = open_there(s);
    const tidegate::element_range some[] = {{0, 5}};
    floats values(5);
    for (const auto& refused : {s.push(t, some), s.pull(t, some, values)})
      expect(refused.wait(), errc::invalid_argument, "it lies on a device");
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(device_session_test, a_second_push_of_a_clock_spoils_nothing) {
  const auto cluster = cluster_of(2);
  cluster->run_workers("job", [](session& s) {
    const auto t = open_there(s);
    for (int clock = 0; clock < 30; ++clock) {
      write(s, t, 1.0F);
      auto first = s.push(t);
      // From memory of the host, of the device, and in place.
      const floats other(elements, 50.0F);
      expect(s.push(t, other).wait(), errc::out_of_order, "out of order");
      const auto room = *s.device_gradient(t);
      expect(s.push(t, tidegate::const_device_span{room.data, room.size}).wait(),
             errc::out_of_order, "out of order");
      expect(s.push(t).wait(), errc::out_of_order, "out of order");
      ASSERT_TRUE(first.wait().ok());
      ASSERT_TRUE(s.clock().ok());
      ASSERT_TRUE(s.pull(t).wait().ok());
      EXPECT_EQ(read(s, t), floats(elements, -static_cast<float>(clock)));
    }
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(device_session_test, pushes_from_and_pulls_to_memory_of_its_own) {
  const auto cluster = cluster_of(1);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  auto mine = on_->allocate(elements * sizeof(float));
  ASSERT_TRUE(mine);
  const tidegate::device_span span{reinterpret_cast<float*>(mine->data()), elements};
  ASSERT_TRUE(s.copy(span, floats(elements, 2.0F)).ok());
  ASSERT_TRUE(s.push(t, tidegate::const_device_span{span.data, span.size}).wait().ok());
  ASSERT_TRUE(s.clock().ok());
  ASSERT_TRUE(s.pull(t, span).wait().ok());
  floats values(elements);
  ASSERT_TRUE(s.copy(values, tidegate::const_device_span{span.data, span.size}).ok());
  EXPECT_EQ(values, floats(elements, -1.0F));
  ASSERT_TRUE(s.pull_final(t, span).wait().ok());
  // Calls that come too early put away what they name, and nothing that is under way.
  for (int i = 0; i < 200; ++i) {
    auto under_way = s.pull(t, span);
    auto again = s.pull(t, span);
    ASSERT_TRUE(under_way.wait().ok());
    again.wait().ok();
  }
  expect(s.pull(t, tidegate::device_span{span.data, 3}).wait(), errc::invalid_argument, "3");
  EXPECT_TRUE(s.finish().ok());
  s.leave();
  mine->reset();
}

TEST_F(device_session_test, what_is_not_finite_is_refused_and_may_be_pushed_again) {
  const auto cluster = cluster_of(1);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  floats bad(elements, 1.0F);
  bad[elements - 1] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(s.copy(*s.device_gradient(t), bad).ok());
  expect(s.push(t).wait(), errc::not_finite, "element 999");
  expect(s.exchange(std::array{t}), errc::not_finite, "element 999");
  write(s, t, 1.0F);
  EXPECT_TRUE(s.exchange(std::array{t}).ok());
  EXPECT_EQ(read(s, t), floats(elements, 0.0F));
  EXPECT_TRUE(s.finish().ok());
}

// What one stream was given before the session was told of another counts, too.
TEST_F(device_session_test, follows_the_program_from_stream_to_stream) {
  const emulated_options slow{.index = 3,
                              .most = {.delay_ns = 5'000'000, .duration_ns = 1, .news_ns = 1}};
  const auto cluster = cluster_of(1, true, slow);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  auto host = on_->allocate_host(elements * sizeof(float));
  const std::array streams = {*on_->make_stream(), *on_->make_stream()};
  const auto handle_of = [&](int i) { return static_cast<std::uintptr_t>(streams[i]) + 1; };
  for (int clock = 0; clock < 20; ++clock) {
    const auto from = clock % 2;
    ASSERT_TRUE(s.use_device({.name = device_text, .stream = handle_of(from)}).ok());
    const auto room = *s.device_gradient(t);
    auto* values = reinterpret_cast<float*>(host->bytes().data());
    std::fill_n(values, elements, static_cast<float>(clock + 1));
    ASSERT_TRUE(
        on_->copy_in(streams[from], reinterpret_cast<std::byte*>(room.data), host->bytes())
            .ok());
    ASSERT_TRUE(s.use_device({.name = device_text, .stream = handle_of(1 - from)}).ok());
    ASSERT_TRUE(s.exchange(std::array{t}).ok());
    const auto sum = static_cast<float>((clock + 1) * (clock + 2) / 2);
    EXPECT_EQ(read(s, t), floats(elements, 1.0F - sum)) << "clock " << clock;
  }
  EXPECT_TRUE(s.finish().ok());
  s.leave();
  host->reset();
}

TEST_F(device_session_test, without_room_on_the_device_nothing_hangs) {
  const auto cluster = cluster_of(1, false);
  auto s = *cluster->join("job", 0);
  ASSERT_TRUE(s.use_device({.name = device_text}).ok());
  on_->fail_allocation(1);
  tidegate::table_options options;
  options.optimizer = {.name = "sgd", .learning_rate = 1.0F};
  const auto refused = s.open_table("t", {1U << 20U}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::io_error) << refused.error().to_string();
  const auto t = *s.open_table("t", {1U << 20U}, options);
  ASSERT_TRUE(s.device_gradient(t)) << "it is on the device all the same";
  on_->fail_allocation(1);  // of room for parameters
  expect(s.pull(t).wait(), errc::io_error, "memory");
  EXPECT_TRUE(s.device_parameters(t).empty());
  ASSERT_TRUE(s.pull(t).wait().ok());
  EXPECT_EQ(read(s, t), floats(t.size, 0.0F));
  EXPECT_TRUE(s.finish().ok());
}

TEST_F(device_session_test, a_lost_device_ends_the_session_with_its_name) {
  const auto cluster = cluster_of(1, false);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  write(s, t, 1.0F);
  auto pushed = s.push(t);
  on_->lose();
  runtime::status outcome = pushed.wait();
  for (int i = 0; outcome.ok() && i < 1000; ++i) outcome = s.exchange(std::array{t});
  expect(outcome, errc::unavailable, "emulated:3 is lost");
  expect(s.pull(t).wait(), errc::unavailable, "emulated:3 is lost");
}

// Commands wait for some 100 ms of the device each when the cluster dies.
TEST_F(device_session_test, commands_that_wait_end_when_the_cluster_does) {
  const emulated_options slow{
      .index = 3, .most = {.delay_ns = 100'000'000, .duration_ns = 1, .news_ns = 1}};
  const auto cluster = cluster_of(1, true, slow);
  auto s = *cluster->join("job", 0);
  const auto t = open_there(s);
  std::thread end([&] { cluster->kill_coordinator(); });
  runtime::status outcome;
  while (outcome.ok()) outcome = s.exchange(std::array{t});
  EXPECT_EQ(outcome.code(), errc::unavailable) << outcome.to_string();
  end.join();
}

TEST_F(device_session_test, a_session_may_end_in_the_middle_of_everything) {
  const emulated_options slow{.index = 3,
                              .most = {.delay_ns = 20'000'000, .duration_ns = 1, .news_ns = 1}};
  for (int round = 0; round < 8; ++round) {
    const auto cluster = cluster_of(1, round % 2 == 0, slow);
    std::vector<tidegate::pending> begun;
    {
      auto s = *cluster->join("job", 0);
      const auto t = open_there(s);
      begun.push_back(s.pull(t));
      if (round % 4 < 2) begun.back().wait().ok();
      begun.push_back(s.push(t));
    }
    for (auto& operation : begun) EXPECT_TRUE(operation.ready()) << "round " << round;
  }
}

}  // namespace
}  // namespace tidegate::tests
