#include "runtime/device/updates/update_queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/open/open_device.hpp"
#include "tests/runtime/device/updates/queue_trial.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr auto by_caller = emulated_options::pace::caller;

#ifdef __SANITIZE_THREAD__  // ten times as slow, and most runs have one thread
constexpr std::uint64_t seeds = 50;
#else
constexpr std::uint64_t seeds = 250;
#endif

TEST(update_queue, leaves_the_bits_of_the_cpu) {
  std::uint64_t steps = 0, reads = 0, seen = 0, moved = 0, joined = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto report = tests::try_emulated(seed, by_caller, false);
    ASSERT_EQ(report.problem, "") << "seed " << seed;
    ASSERT_FALSE(report.is_lost);
    steps += report.steps;
    reads += report.reads;
    seen += report.seen;
    moved += report.pages_moved;
    joined += report.joined;
  }
  EXPECT_GT(steps, 7 * seeds);
  EXPECT_GT(reads, 6 * seeds);
  EXPECT_GT(seen, seeds / 2) << "in place";
  EXPECT_GT(moved, 4 * seeds) << "pages";
  EXPECT_GT(joined, seeds / 4) << "steps of one launch";
}

TEST(update_queue, gives_everything_back_when_its_device_is_lost) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= seeds / 2; ++seed) {
    const auto report = tests::try_emulated(seed, by_caller, true);
    ASSERT_EQ(report.problem, "") << "seed " << seed;
    lost += report.is_lost ? 1 : 0;
  }
  EXPECT_GT(lost, seeds / 12);
}

TEST(update_queue, works_beside_its_caller) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto report =
        tests::try_emulated(seed, emulated_options::pace::thread, seed % 4 == 0);
    ASSERT_EQ(report.problem, "") << "seed " << seed;
  }
}

TEST(update_queue, a_seed_is_a_run) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto run = [&] {
      emulated_device on({.seed = seed, .paced_by = by_caller});
      EXPECT_EQ(tests::try_queue(on, seed).problem, "");
      return on.halves_done();
    };
    EXPECT_EQ(run(), run());
  }
}

// The same operations on a GPU, where there is one.
TEST(update_queue, leaves_the_bits_of_the_cpu_on_a_gpu) {
  const auto on = open_device("cuda:0");
  if (!on) GTEST_SKIP() << on.error().message();
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    ASSERT_EQ(tests::try_queue(**on, seed).problem, "") << "seed " << seed;
}

// A queue with a table of two chunks, and gradients of each kind of place.
class one_table : public testing::Test {
 protected:
  static constexpr std::size_t elements = 3000;

  void make(std::uint32_t operations_max = 8) {
    auto queue = update_queue::make(
        device_, {.operations_max = operations_max, .slots = 2, .slot_bytes = slot_bytes_min});
    ASSERT_TRUE(queue) << queue.error().message();
    queue_ = std::move(*queue);
    const std::uint64_t sizes[] = {elements, elements};
    ASSERT_TRUE(queue_->add_table({.elements = sizes, .states = 2, .version_buffers = 2}));
    ASSERT_TRUE(queue_->prepare(1, 1).ok());
    auto host = device_.allocate_host(2 * elements * sizeof(float));
    auto memory = device_.allocate(elements * sizeof(float));
    ASSERT_TRUE(host && memory);
    host_ = std::move(*host);
    memory_ = std::move(*memory);
    pageable_.assign(elements, 1.0F);
    const auto on = *device_.make_stream();
    ASSERT_TRUE(device_.clear(on, memory_.data(), memory_.size()).ok());
    ASSERT_TRUE(device_.synchronize().ok());
    inputs_ = {
        {.gradient = {.data = memory_.data(), .rank = 0}},
        {.gradient = {.data = host_.bytes().data(), .rank = 1},
         .place = input_place::registered},
        {.gradient = {.data = pageable_.data(), .rank = 2}, .place = input_place::pageable}};
    request_.options.kind = optimizer_kind::adam;
    request_.inputs = inputs_;
  }
  std::span<float> result() {
    return {reinterpret_cast<float*>(host_.bytes().data()) + elements, elements};
  }
  void drain() {
    while (!queue_->is_idle()) static_cast<void>(queue_->poll());
  }

  emulated_device device_{{.seed = 11, .paced_by = by_caller}};
  host_memory host_;
  device_memory memory_;
  std::vector<float> pageable_;
  std::vector<step_input> inputs_;
  step_request request_;
  std::unique_ptr<update_queue> queue_;
};

TEST_F(one_table, nothing_allocates_once_it_is_warm) {
  make();
  const auto turn = [&] {
    request_.chunk ^= 1;
    std::swap(request_.from, request_.to);
    queue_->step(request_);
    queue_->read({.chunk = request_.chunk, .copy = request_.to}, result());
    drain();
  };
  for (int i = 0; i < 20; ++i) turn();
  const auto before = tests::allocations();
  for (int i = 0; i < 50; ++i) turn();
  EXPECT_EQ(tests::allocations() - before, 0u);
}

// However often a step asks for a slot in vain.
TEST_F(one_table, polling_queues_no_work_twice) {
  make();
  const auto before = device_.halves_done();
  for (int i = 0; i < 3; ++i) {  // with two slots
    queue_->step(request_);
    queue_->read({}, result());
  }
  drain();
  ASSERT_TRUE(device_.synchronize().ok());
  // A step: two copies and a launch of two halves each, three recordings, one wait; a read: one
  // copy, two recordings, one wait. Two of the steps wait for the read before.
  EXPECT_EQ(device_.halves_done() - before, 3U * 10 + 3U * 5 + 2);
}

// More than are under way at a time.
TEST_F(one_table, as_many_operations_wait_as_are_asked_for) {
  make(3);
  constexpr int operations = 20;
  std::vector<float> copy(elements);
  for (int i = 0; i < operations; ++i) {
    queue_->step(request_);
    queue_->read({}, copy, input_place::pageable);
  }
  EXPECT_EQ(queue_->submitted(), 2U * operations);
  ticket done = 0;
  while (!queue_->is_idle()) {
    const auto item = queue_->poll();
    if (item && item->kind == news::done) {
      EXPECT_EQ(item->of, ++done);
    }
  }
  EXPECT_EQ(queue_->done(), 2U * operations);
  EXPECT_TRUE(queue_->failure().ok()) << queue_->failure().message();
}

TEST_F(one_table, what_memory_belongs_to_is_kept_until_its_copy_is_done) {
  make();
  auto values = std::make_shared<std::vector<float>>(elements, 2.5F);
  auto copy = std::make_shared<std::vector<float>>(elements);
  queue_->write({}, *values, input_place::pageable, values);
  queue_->read({}, *copy, input_place::pageable, copy);
  EXPECT_EQ(values.use_count(), 2);
  EXPECT_EQ(copy.use_count(), 2);
  drain();
  EXPECT_EQ(values.use_count(), 1);
  EXPECT_EQ(copy.use_count(), 1);
  EXPECT_EQ(*copy, *values);
}

TEST_F(one_table, a_step_has_as_many_inputs_as_a_launch) {
  make();
  const std::vector<step_input> most(launch_inputs_max, inputs_[1]);
  std::vector<step_input> inputs = most;
  for (std::uint32_t rank = 0; rank < inputs.size(); ++rank) inputs[rank].gradient.rank = rank;
  request_.inputs = inputs;
  queue_->step(request_);
  drain();
  EXPECT_TRUE(queue_->failure().ok()) << queue_->failure().message();
  inputs.push_back(inputs.back());
  request_.inputs = inputs;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(queue_->step(request_), "room for them");
}

TEST_F(one_table, its_parameters_are_shown_in_one_window) {
  make();
  // Small tables share memory: the second one lies behind the first.
  const std::vector<std::uint64_t> chunks{elements, elements};
  const auto second = queue_->add_table({.elements = chunks, .version_buffers = 2});
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_TRUE(queue_->prepare(*second, 1).ok());
  for (const chunk_index first : {chunk_index{0}, *second}) {
    const auto place = queue_->place_of(first, 1);
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_GE(place->bytes, 2 * elements * sizeof(float));
    std::fill_n(reinterpret_cast<float*>(host_.bytes().data()), elements,
                2.5F + static_cast<float>(first));
    queue_->write({.chunk = first + 1, .copy = 1},
                  {reinterpret_cast<const float*>(host_.bytes().data()), elements});
    drain();
    emulated_device worker({.paced_by = by_caller});
    auto window = worker.open_window(place->name);
    ASSERT_TRUE(window) << window.error().message();
    auto copy = worker.allocate_host(elements * sizeof(float));
    const auto on = *worker.make_stream();
    const auto at = place->offset + elements * sizeof(float);  // the second chunk of the table
    ASSERT_TRUE(worker.copy_out(on, copy->bytes(), window->data() + at).ok());
    ASSERT_TRUE(worker.synchronize().ok());
    EXPECT_EQ(std::memcmp(copy->bytes().data(), host_.bytes().data(), copy->bytes().size()), 0);
  }
}

TEST_F(one_table, operations_after_a_loss_fail_one_by_one) {
  make();
  queue_->step(request_);
  device_.lose();
  queue_->step(request_);
  queue_->read({}, result());
  std::vector<std::pair<ticket, news>> told;
  while (!queue_->is_idle())
    if (const auto item = queue_->poll()) {
      EXPECT_EQ(item->outcome.code(), errc::unavailable);
      told.emplace_back(item->of, item->kind);
    }
  EXPECT_EQ(told.size(), 5u);
  EXPECT_EQ(std::count(told.begin(), told.end(), std::pair(ticket{1}, news::done)), 1);
  const std::uint64_t sizes[] = {1};
  EXPECT_EQ(queue_->add_table({.elements = sizes}).error().code(), errc::unavailable);
}

// Wherever memory runs out while a queue is set up, it is an error, and all memory comes back.
TEST(update_queue, no_memory_is_an_error_wherever_it_strikes) {
  const std::uint64_t sizes[] = {200'000, 200'000};  // too large to share memory
  const table_shape shape{.elements = sizes, .states = 1};
  for (std::uint64_t call = 1; call <= 5; ++call) {
    emulated_device on({.paced_by = by_caller});
    {
      on.fail_allocation(call);
      auto queue = update_queue::make(on, {.slots = 2, .slot_bytes = slot_bytes_min});
      ASSERT_EQ(queue.has_value(), call > 3);
      if (!queue) {
        EXPECT_EQ(queue.error().code(), errc::io_error);
        continue;
      }
      const auto before = on.bytes_out();
      const auto refused = (*queue)->add_table(shape);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), errc::io_error);
      EXPECT_EQ(on.bytes_out(), before) << "nothing was taken";
      EXPECT_EQ((*queue)->add_table(shape).value(), 0u);
      ASSERT_TRUE(on.synchronize().ok()) << "no work was left on what was given back";
    }
    EXPECT_EQ(on.bytes_out(), 0u);
  }
}

}  // namespace
}  // namespace tidegate::runtime::devices
