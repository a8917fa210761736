// The CUDA backend over a runtime that is made up (fake_runtime.hpp): what it makes of its
// calls. Nothing here has seen a GPU.
#include "runtime/device/cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>
#include <cuda_runtime_api.h>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/rows/row_queue.hpp"
#include "runtime/device/updates/update_queue.hpp"
#include "tests/runtime/device/cuda/fake_runtime.hpp"
#include "tests/runtime/device/rows/rows_trial.hpp"
#include "tests/runtime/device/updates/queue_trial.hpp"

namespace tidegate::runtime::devices::cuda {
namespace {

class cuda_backend : public testing::Test {
 protected:
  void SetUp() override { reset(1); }
  static void reset(std::uint64_t seed) {
    tests::reset_gpu({.seed = seed, .paced_by = emulated_options::pace::caller});
  }
  static void expect_nothing_out() {
    const auto& gpu = tests::the_gpu();
    EXPECT_EQ(gpu.memories, 0);
    EXPECT_EQ(gpu.registrations, 0);
    EXPECT_EQ(gpu.streams, 0);
    EXPECT_EQ(gpu.events, 0);
    EXPECT_EQ(gpu.handles, 0);
    EXPECT_EQ(gpu.reservations, 0);
    EXPECT_EQ(gpu.mappings, 0);
  }
};

TEST_F(cuda_backend, random_operations_leave_the_bits_of_the_cpu) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    reset(seed);
    {
      const auto on = open_gpu(0);
      ASSERT_TRUE(on) << on.error().message();
      ASSERT_EQ(tests::try_queue(**on, seed).problem, "") << "seed " << seed;
    }
    EXPECT_EQ(tests::the_gpu().errors_pending, 0) << "of queries that were too early";
    expect_nothing_out();
  }
}

TEST_F(cuda_backend, rows_have_the_bits_of_the_cpu) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    reset(seed);
    {
      const auto on = open_gpu(0);
      ASSERT_TRUE(on) << on.error().message();
      ASSERT_EQ(tests::try_rows(**on, seed).problem, "") << "seed " << seed;
    }
    expect_nothing_out();
  }
}

TEST_F(cuda_backend, rows_need_a_gpu_that_works_on_memory_of_the_host) {
  tests::the_gpu().works_on_host_memory = false;
  const auto on = open_gpu(0);
  ASSERT_TRUE(on);
  const auto queue = row_queue::make(**on, {});
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code(), errc::invalid_argument);
}

TEST_F(cuda_backend, is_lost_with_cudas_words_and_stays_lost) {
  {
    const auto on = open_gpu(0);
    ASSERT_TRUE(on);
    auto memory = (*on)->allocate(100);
    const auto a = (*on)->make_stream();
    const auto end = (*on)->make_event();
    ASSERT_TRUE(memory && a && end);
    tests::the_gpu().device->lose();
    const auto outcome = (*on)->record(*a, *end);
    EXPECT_EQ(outcome.code(), errc::unavailable);
    EXPECT_EQ(outcome.message().find("cuda:0 is lost: cudaEventRecord: an illegal memory "
                                     "access was encountered (cudaErrorIllegalAddress)"),
              0u)
        << outcome.message();
    EXPECT_EQ((*on)->has_ended(*end).error(), outcome) << "the first reason is kept";
    EXPECT_EQ((*on)->clear(*a, memory->data(), 1), outcome);
    EXPECT_EQ((*on)->allocate(1).error(), outcome);
    EXPECT_EQ((*on)->synchronize(), outcome);
  }
  expect_nothing_out();
}

// A thread has the program's device current, or none, and keeps it.
TEST_F(cuda_backend, each_call_makes_its_device_current) {
  const auto on = open_gpu(0);
  ASSERT_TRUE(on);
  const auto on_another_thread = [](auto call) {
    bool is_ok = false;
    std::thread([&] { is_ok = call() && tests::is_programs_device_current(); }).join();
    return is_ok;
  };
  auto host = (*on)->allocate_host(100);
  auto memory = (*on)->allocate(100);
  const auto a = *(*on)->make_stream();
  const auto end = *(*on)->make_event();
  const auto* data = memory->data();
  const auto name = (*on)->name_window(*memory);
  ASSERT_TRUE(name);
  EXPECT_TRUE(on_another_thread([&] { return (*on)->allocate(1).has_value(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->make_stream().has_value(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->make_event().has_value(); }));
  EXPECT_TRUE(
      on_another_thread([&] { return (*on)->copy_in(a, memory->data(), host->bytes()).ok(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->copy_out(a, host->bytes(), data).ok(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->clear(a, memory->data(), 4).ok(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->record(a, end).ok(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->wait(a, end).ok(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->has_ended(end).has_value(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->adopt_stream(0).has_value(); }));
  EXPECT_TRUE(on_another_thread([&] { return (*on)->open_window(*name).has_value(); }));
}

TEST_F(cuda_backend, no_memory_is_no_loss) {
  const auto on = open_gpu(0);
  ASSERT_TRUE(on);
  tests::the_gpu().device->fail_allocation(1);
  const auto refused = (*on)->allocate(100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "cuda:0: no device memory for 100 bytes");
  EXPECT_EQ(refused.error().code(), errc::io_error);
  EXPECT_EQ(tests::the_gpu().errors_pending, 0) << "no error of a later call";
  tests::the_gpu().device->fail_allocation(1);
  EXPECT_EQ((*on)->allocate_host(100).error().code(), errc::io_error);
  EXPECT_TRUE((*on)->allocate(100));
}

TEST_F(cuda_backend, memory_that_is_mapped_read_only_is_registered_so) {
  const auto on = open_gpu(0);
  ASSERT_TRUE(on);
  std::vector<std::byte> memory(100);
  {
    const auto registered = (*on)->register_host(memory, host_access::read_only);
    ASSERT_TRUE(registered);
    EXPECT_TRUE(tests::the_gpu().host_register_flags & cudaHostRegisterReadOnly);
    EXPECT_EQ((*on)->register_host(memory, host_access::read_only).error().code(),
              errc::invalid_argument)
        << "a second time";
  }
  EXPECT_TRUE((*on)->register_host(memory, host_access::read_write));
  EXPECT_FALSE(tests::the_gpu().host_register_flags & cudaHostRegisterReadOnly);
}

// The same stream for the same handle; it is its owner's to end.
TEST_F(cuda_backend, streams_of_others_are_adopted) {
  {
    const auto on = open_gpu(0);
    ASSERT_TRUE(on);
    const auto own = (*on)->make_stream();
    const auto theirs = tests::the_gpu().device->make_stream();
    ASSERT_TRUE(own && theirs);
    const auto handle = static_cast<std::uintptr_t>(*theirs) + 1;
    const auto adopted = (*on)->adopt_stream(handle);
    ASSERT_TRUE(adopted) << adopted.error().message();
    EXPECT_NE(*adopted, *own);
    EXPECT_EQ((*on)->adopt_stream(handle).value(), *adopted);
    const auto standard = (*on)->adopt_stream(0);
    ASSERT_TRUE(standard);
    EXPECT_NE(*standard, *adopted);
    EXPECT_EQ((*on)->adopt_stream(0).value(), *standard);
    const auto wrong = (*on)->adopt_stream(4711);
    EXPECT_EQ(wrong.error().code(), errc::invalid_argument);
    EXPECT_EQ(wrong.error().message(), "cuda:0: 4711 is no stream of it: an error");
    EXPECT_EQ(tests::the_gpu().errors_pending, 0) << "no error of a later call";
    auto memory = (*on)->allocate(100);
    ASSERT_TRUE(memory);
    EXPECT_TRUE((*on)->clear(*adopted, memory->data(), 100).ok());
    EXPECT_TRUE((*on)->clear(*standard, memory->data(), 100).ok());
    EXPECT_TRUE((*on)->synchronize().ok());
  }
  expect_nothing_out();
}

TEST_F(cuda_backend, copies_and_searches_on_the_device) {
  const auto on = open_gpu(0);
  ASSERT_TRUE(on);
  constexpr std::size_t n = 1000;
  const auto a = *(*on)->make_stream();
  auto host = (*on)->allocate_host(n * sizeof(float));
  auto from = (*on)->allocate(n * sizeof(float)), to = (*on)->allocate(n * sizeof(float));
  auto result = (*on)->allocate(sizeof(std::uint64_t));
  auto back = (*on)->allocate_host(sizeof(std::uint64_t));
  ASSERT_TRUE(host && from && to && result && back);
  auto* const numbers = reinterpret_cast<float*>(host->bytes().data());
  for (const std::size_t at : {std::size_t{0}, std::size_t{777}, n}) {
    std::fill_n(numbers, n, 1.0F);
    if (at < n) numbers[at] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE((*on)->copy_in(a, from->data(), host->bytes()).ok());
    EXPECT_TRUE((*on)->copy(a, to->data(), from->data(), from->size()).ok());
    EXPECT_TRUE((*on)
                    ->find_not_finite(a, reinterpret_cast<const float*>(to->data()), n,
                                      reinterpret_cast<std::uint64_t*>(result->data()))
                    .ok());
    EXPECT_TRUE((*on)->copy_out(a, back->bytes(), result->data()).ok());
    ASSERT_TRUE((*on)->synchronize().ok());
    std::uint64_t found = 0;
    std::memcpy(&found, back->bytes().data(), sizeof found);
    EXPECT_EQ(found, at);
  }
}

TEST_F(cuda_backend, what_is_not_supported_is_not_opened) {
  auto& gpu = tests::the_gpu();
  EXPECT_EQ(open_gpu(1).error().code(), errc::not_found);
  gpu.model += " MIG 1g.10gb";
  EXPECT_NE(open_gpu(0).error().message().find("MIG"), std::string::npos);
  gpu.model = "Tesla T4";
  gpu.capability_major = 7;
  EXPECT_NE(open_gpu(0).error().message().find("capability 7.0"), std::string::npos);
  gpu.capability_major = 8;
  gpu.is_prohibited = true;
  EXPECT_NE(open_gpu(0).error().message().find("prohibited"), std::string::npos);
  gpu.devices = 0;
  EXPECT_NE(open_gpu(0).error().message().find("no GPU"), std::string::npos);
  gpu.driver = 12'000;
  EXPECT_NE(open_gpu(0).error().message().find("too old"), std::string::npos);
}

}  // namespace
}  // namespace tidegate::runtime::devices::cuda
