#include "runtime/device/emulated/emulated_device.hpp"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime::devices {
namespace {

constexpr auto by_caller = emulated_options::pace::caller;
constexpr auto by_thread = emulated_options::pace::thread;

// Returns the signal that ended a child which touched this address.
int signal_of_touching(std::byte* at, bool writes) {
  const auto child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have handlers
    auto* touched = reinterpret_cast<volatile unsigned char*>(at);
    if (writes)
      *touched = 1;
    else
      static_cast<void>(*touched);
    ::_exit(0);
  }
  int end = 0;
  ::waitpid(child, &end, 0);
  return WIFSIGNALED(end) ? WTERMSIG(end) : 0;
}

void wait_for(device& on, event end) {
  while (true) {
    const auto ended = on.has_ended(end);
    ASSERT_TRUE(ended) << ended.error().message();
    if (*ended) return;
  }
}

TEST(emulated_device, a_host_that_touches_its_memory_dies) {
  emulated_device on({.paced_by = by_caller});
  auto memory = on.allocate(5000);
  ASSERT_TRUE(memory);
  for (const std::size_t offset : {0, 4999})
    for (const bool writes : {false, true})
      EXPECT_EQ(signal_of_touching(memory->data() + offset, writes), SIGSEGV);
  std::byte here{};
  EXPECT_EQ(signal_of_touching(&here, true), 0);
}

class paced : public testing::TestWithParam<emulated_options::pace> {};

TEST_P(paced, what_is_copied_in_is_stepped_and_copied_out) {
  emulated_device on({.seed = 5, .paced_by = GetParam()});
  constexpr std::size_t n = 1001;
  auto host = on.allocate_host(2 * n * sizeof(float));
  auto memory = on.allocate(2 * n * sizeof(float));
  ASSERT_TRUE(host && memory);
  auto* values = reinterpret_cast<float*>(host->bytes().data());
  for (std::size_t i = 0; i < 2 * n; ++i) values[i] = static_cast<float>(i % 17);
  std::vector<float> wanted(values, values + n);
  std::vector<float> gradient(values + n, values + 2 * n);
  const auto copies = *on.make_stream(), steps = *on.make_stream();
  const auto copied = *on.make_event(), done = *on.make_event();
  ASSERT_TRUE(on.copy_in(copies, memory->data(), host->bytes()).ok());
  ASSERT_TRUE(on.record(copies, copied).ok());
  ASSERT_TRUE(on.wait(steps, copied).ok());
  auto* parameters = reinterpret_cast<float*>(memory->data());
  const kernels::gradient input{.data = parameters + n};
  update_launch call;
  call.options.learning_rate = 0.5F;
  call.inputs = {&input, 1};
  call.arrays = {.before = parameters, .after = parameters, .n = n};
  ASSERT_TRUE(on.launch(steps, call).ok());
  ASSERT_TRUE(on.copy_out(steps, host->bytes(), memory->data()).ok());
  ASSERT_TRUE(on.record(steps, done).ok());
  wait_for(on, done);
  kernels::beta_powers powers;
  const kernels::gradient same{.data = gradient.data()};
  kernels::apply_update(call.options, powers, {&same, 1}, 1.0F,
                        {.before = wanted.data(), .after = wanted.data(), .n = n});
  EXPECT_EQ(std::memcmp(values, wanted.data(), n * sizeof(float)), 0);
  EXPECT_EQ(on.waits(), 0u);
  EXPECT_TRUE(on.synchronize().ok());
  EXPECT_EQ(on.waits(), 1u);
}

TEST_P(paced, memory_has_an_end_and_comes_back) {
  emulated_device on({.memory_bytes = 10'000, .paced_by = GetParam()});
  auto first = on.allocate(6000);
  ASSERT_TRUE(first);
  const auto second = on.allocate(4001);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), errc::io_error);
  EXPECT_EQ(second.error().message(),
            "emulated:0: no device memory for 4001 bytes: 6000 of 10000 are in use");
  first->reset();
  EXPECT_TRUE(on.allocate(10'000));
  EXPECT_EQ(on.bytes_out(), 0u);
}

TEST_P(paced, allocations_fail_when_they_are_told_to) {
  emulated_device on({.paced_by = GetParam()});
  std::vector<std::byte> memory(100);
  on.fail_allocation(2);
  EXPECT_TRUE(on.allocate(1));
  EXPECT_EQ(on.allocate_host(1).error().code(), errc::io_error);
  EXPECT_TRUE(on.allocate_host(1));
  on.fail_allocation(1);
  EXPECT_EQ(on.register_host(memory, host_access::read_write).error().code(), errc::io_error);
  EXPECT_TRUE(on.register_host(memory, host_access::read_write));
}

TEST_P(paced, a_lost_device_stays_lost_and_its_memory_is_gone) {
  emulated_device on({.paced_by = GetParam()});
  auto host = on.allocate_host(4096);
  auto memory = on.allocate(4096);
  const auto stream_made = on.make_stream();
  const auto event_made = on.make_event();
  ASSERT_TRUE(host && memory && stream_made && event_made);
  ASSERT_TRUE(on.copy_in(*stream_made, memory->data(), host->bytes()).ok());
  ASSERT_TRUE(on.record(*stream_made, *event_made).ok());
  on.lose();
  const auto is_lost = [](const status& outcome) {
    return outcome.code() == errc::unavailable &&
           outcome.message().find("emulated:0 is lost: it fell off the bus") == 0;
  };
  EXPECT_TRUE(is_lost(on.has_ended(*event_made).error()));
  EXPECT_TRUE(is_lost(on.copy_in(*stream_made, memory->data(), host->bytes())));
  EXPECT_TRUE(is_lost(on.copy_out(*stream_made, host->bytes(), memory->data())));
  EXPECT_TRUE(is_lost(on.clear(*stream_made, memory->data(), 1)));
  EXPECT_TRUE(is_lost(on.record(*stream_made, *event_made)));
  EXPECT_TRUE(is_lost(on.wait(*stream_made, *event_made)));
  EXPECT_TRUE(is_lost(on.synchronize()));
  EXPECT_TRUE(is_lost(on.allocate(1).error()));
  EXPECT_TRUE(is_lost(on.allocate_host(1).error()));
  EXPECT_TRUE(is_lost(on.name_window(*memory).error()));
  EXPECT_TRUE(is_lost(on.make_event().error()));
}

TEST_P(paced, work_on_memory_that_is_not_its_own_loses_the_device) {
  const auto lost_by = [](auto work) {
    emulated_device on({.paced_by = GetParam()});
    auto host = on.allocate_host(8192);
    auto memory = on.allocate(4096);
    const auto stream_made = *on.make_stream();
    EXPECT_TRUE(work(on, stream_made, *memory, *host).ok());
    const auto ended = on.synchronize();
    return ended.message().find("touched memory") != std::string::npos;
  };
  EXPECT_TRUE(lost_by([](device& on, stream s, device_memory& m, host_memory& h) {
    return on.copy_in(s, m.data(), h.bytes());  // 8192 into 4096
  }));
  EXPECT_TRUE(lost_by([](device& on, stream s, device_memory& m, host_memory& h) {
    return on.copy_out(s, h.bytes().first(1), m.data() + 4096);
  }));
  EXPECT_TRUE(lost_by([](device& on, stream s, device_memory& m, host_memory& h) {
    const auto copied = on.copy_in(s, m.data(), h.bytes().first(4096));
    m.reset();  // too early, unless the thread has done it already
    return on.clear(s, h.bytes().data(), 1).ok() ? copied : copied;
  }));
  EXPECT_TRUE(lost_by([](device& on, stream s, device_memory& m, host_memory& h) {
    const kernels::gradient input{.data = h.bytes().data()};  // on the host
    update_launch call;
    call.inputs = {&input, 1};
    auto* parameters = reinterpret_cast<float*>(m.data());
    call.arrays = {.before = parameters, .after = parameters, .n = 4};
    return on.launch(s, call);
  }));
  EXPECT_FALSE(lost_by([](device& on, stream s, device_memory& m, host_memory& h) {
    return on.copy_in(s, m.data(), h.bytes().first(4096));
  }));
}

INSTANTIATE_TEST_SUITE_P(emulated_device, paced, testing::Values(by_caller, by_thread));

TEST(emulated_device, a_seed_is_a_run) {
  const auto run = [](std::uint64_t seed) {
    emulated_device on({.seed = seed, .paced_by = by_caller});
    auto host = on.allocate_host(64);
    auto memory = on.allocate(64);
    const auto a = *on.make_stream();
    const auto end = *on.make_event();
    std::vector<std::uint64_t> polls;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(on.copy_in(a, memory->data(), host->bytes()).ok());
      EXPECT_TRUE(on.record(a, end).ok());
      polls.push_back(0);
      while (!on.has_ended(end).value()) ++polls.back();
    }
    return polls;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(emulated_device, is_lost_after_so_much_work) {
  emulated_device on({.paced_by = by_caller, .lost_after = 3});
  auto memory = on.allocate(64);
  const auto a = *on.make_stream();
  ASSERT_TRUE(on.clear(a, memory->data(), 64).ok());
  ASSERT_TRUE(on.synchronize().ok());
  ASSERT_TRUE(on.clear(a, memory->data(), 64).ok());
  EXPECT_FALSE(on.synchronize().ok());
  EXPECT_TRUE(on.is_lost());
}

TEST(emulated_device_death, copies_need_registered_host_memory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  emulated_device on({.paced_by = by_caller});
  auto memory = on.allocate(64);
  const auto a = *on.make_stream();
  std::vector<std::byte> here(64);
  EXPECT_DEATH(static_cast<void>(on.copy_in(a, memory->data(), here)), "registered");
  EXPECT_DEATH(static_cast<void>(on.copy_out(a, here, memory->data())), "registered");
}

}  // namespace
}  // namespace tidegate::runtime::devices
