// Windows of the CUDA backend over a driver that is made up (fake_driver.hpp). Descriptors do
// pass between processes here; what keeps a GPU's memory is the driver's to say.
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/cuda/window_fields.hpp"
#include "runtime/process/borrowed_descriptor.hpp"
#include "tests/runtime/device/cuda/fake_runtime.hpp"
#include "tests/runtime/device/window_owner.hpp"

namespace tidegate::runtime::devices::cuda {
namespace {

constexpr std::size_t window_bytes = 100'000;

void reset() {
  tests::reset_gpu({.paced_by = emulated_options::pace::caller});
}
auto open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

class cuda_windows : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto copy = borrow_descriptor(own_mark(), STDOUT_FILENO); !copy)
      GTEST_SKIP() << copy.error().message();
    reset();
    descriptors_ = open_descriptors();
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << opened.error().message();
    on_ = std::move(*opened);
  }
  void TearDown() override {
    on_.reset();
    const auto& gpu = tests::the_gpu();
    EXPECT_EQ(gpu.memories + gpu.handles + gpu.reservations + gpu.mappings, 0);
  }
  void expect_out(int memories) {
    const auto& gpu = tests::the_gpu();
    EXPECT_EQ(gpu.handles, memories);
    EXPECT_EQ(gpu.reservations, memories);
    EXPECT_EQ(gpu.mappings, memories);
  }

  std::unique_ptr<device> on_;
  std::ptrdiff_t descriptors_ = 0;
};

TEST_F(cuda_windows, are_opened_and_closed_as_often_as_asked) {
  auto memory = on_->allocate(window_bytes);
  ASSERT_TRUE(memory);
  expect_out(1);
  const auto before = open_descriptors();
  const auto name = on_->name_window(*memory);
  ASSERT_TRUE(name) << name.error().message();
  EXPECT_EQ(open_descriptors(), before + 1);
  EXPECT_EQ(on_->name_window(*memory).value(), *name) << "with the same descriptor";
  EXPECT_EQ(open_descriptors(), before + 1);
  {
    const auto window = on_->open_window(*name), again = on_->open_window(*name);
    ASSERT_TRUE(window && again) << window.error().message();
    EXPECT_EQ(window->size(), window_bytes);
    EXPECT_NE(window->data(), again->data());
    expect_out(3);
    EXPECT_EQ(on_->name_window(*window).error().code(), errc::invalid_argument);
  }
  expect_out(1);
  memory->reset();
  expect_out(0);
  EXPECT_EQ(open_descriptors(), descriptors_) << "its descriptor is closed";
  const auto gone = on_->open_window(*name);
  EXPECT_EQ(gone.error().code(), errc::unavailable);
  EXPECT_NE(gone.error().message().find("has closed its descriptor"), std::string::npos)
      << gone.error().message();
}

TEST_F(cuda_windows, are_for_reading) {
  for (const bool has_read_only_access : {true, false}) {
    tests::the_gpu().has_read_only_access = has_read_only_access;
    auto memory = on_->allocate(window_bytes);
    ASSERT_TRUE(memory);
    const auto name = on_->name_window(*memory);
    ASSERT_TRUE(name);
    const auto window = on_->open_window(*name);
    ASSERT_TRUE(window) << window.error().message();
    const auto a = *on_->make_stream();
    EXPECT_TRUE(on_->clear(a, memory->data(), window_bytes).ok());
    EXPECT_TRUE(on_->copy(a, memory->data(), window->data(), window_bytes).ok());
    EXPECT_TRUE(on_->synchronize().ok());
    if (has_read_only_access) continue;
    tests::the_gpu().has_read_only_access = true;
    const auto closed = on_->open_window(*name);
    EXPECT_FALSE(on_->clear(a, closed->data(), 4).ok()) << "of a GPU that can refuse it";
  }
}

// The owner opens the GPU in its own process, and is killed there.
TEST_F(cuda_windows, stay_when_their_owner_is_killed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const unique_fd names(ends[0]);
  unique_fd theirs(ends[1]);
  const auto owner = ::fork();
  if (owner == 0) {
    reset();
    const auto on = open_gpu(0);
    if (on) tests::show_window(**on, window_bytes, theirs.get());
    ::_exit(4);
  }
  theirs.reset();
  window_name name;
  EXPECT_EQ(::read(names.get(), name.bytes.data(), sizeof name.bytes),
            static_cast<ssize_t>(sizeof name.bytes));
  const auto window = on_->open_window(name);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  ASSERT_TRUE(window) << window.error().message();
  EXPECT_TRUE(tests::reads_shown(*on_, *on_->make_stream(), window->data(), window_bytes));
  const auto late = on_->open_window(name);
  EXPECT_EQ(late.error().code(), errc::unavailable);
  EXPECT_EQ(late.error().message(), "cuda:0: a window cannot be opened: process " +
                                        std::to_string(owner) + " has ended");
}

TEST_F(cuda_windows, lead_to_memory_of_a_gpu) {
  auto memory = on_->allocate(window_bytes);
  const auto name = on_->name_window(*memory);
  ASSERT_TRUE(name);
  auto fields = *decode_window(*name, gpu_identity{}, "cuda:0");
  fields.descriptor = STDIN_FILENO;
  const auto wrong = on_->open_window(encode(fields));
  EXPECT_EQ(wrong.error().code(), errc::unavailable);
  EXPECT_NE(wrong.error().message().find("cuMemImportFromShareableHandle"), std::string::npos)
      << wrong.error().message();
  fields.gpu.fill(std::byte{1});
  EXPECT_EQ(on_->open_window(encode(fields)).error().code(), errc::unavailable);
  EXPECT_EQ(on_->open_window({}).error().code(), errc::corrupt);
  EXPECT_TRUE(on_->allocate(1)) << "it is not lost";
}

TEST_F(cuda_windows, are_refused_where_memory_cannot_be_shown) {
  auto memory = on_->allocate(window_bytes);
  const auto name = *on_->name_window(*memory);
  const auto expect_plain = [&] {
    const auto on = open_gpu(0);
    ASSERT_TRUE(on);
    const auto plain = (*on)->allocate(100);
    ASSERT_TRUE(plain) << plain.error().message();
    EXPECT_EQ(tests::the_gpu().memories, 1);
    EXPECT_EQ((*on)->name_window(*plain).error().code(), errc::invalid_argument);
    EXPECT_EQ(tests::the_gpu().errors_pending, 0);
  };
  auto& gpu = tests::the_gpu();
  for (auto* attribute : {&gpu.has_virtual_memory, &gpu.has_file_descriptors}) {
    *attribute = false;
    expect_plain();
    EXPECT_EQ((*open_gpu(0))->open_window(name).error().code(), errc::unavailable);
    *attribute = true;
  }
  gpu.missing_call = "cuMemExportToShareableHandle";  // of an old driver
  expect_plain();
  gpu.missing_call = "";
  gpu.failing_call = "cuMemCreate";
  for (const int error : {800, 801}) {  // not permitted, not supported
    gpu.error = error;
    expect_plain();
  }
}

TEST_F(cuda_windows, memory_that_fails_halfway_is_given_back) {
  auto& gpu = tests::the_gpu();
  auto memory = on_->allocate(window_bytes);
  const auto name = *on_->name_window(*memory);
  const auto before = open_descriptors();
  for (const auto* call :
       {"cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    gpu.failing_call = call;
    const auto refused = on_->allocate(100);
    ASSERT_FALSE(refused) << call;
    EXPECT_EQ(refused.error().message(), "cuda:0: no device memory for 100 bytes");
    EXPECT_EQ(refused.error().code(), errc::io_error);
    expect_out(1);
    gpu.failing_call = "";
    EXPECT_TRUE(on_->allocate(100)) << "after " << call;
  }
  for (const auto* call : {"cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap",
                           "cuMemSetAccess"}) {
    for (const int error : {2, 1, 999}) {
      gpu.failing_call = call;
      gpu.error = error;
      EXPECT_EQ(on_->open_window(name).error().code(),
                error == 2 ? errc::io_error : errc::unavailable)
          << call;
      expect_out(1);
      EXPECT_EQ(open_descriptors(), before) << "the borrowed one is closed";
      gpu.failing_call = "";
      EXPECT_TRUE(on_->open_window(name)) << "after " << call;
    }
  }
  gpu.failing_call = "cuMemExportToShareableHandle";
  const auto other = on_->allocate(100);
  EXPECT_EQ(on_->name_window(*other).error().code(), errc::invalid_argument);
  EXPECT_TRUE(on_->name_window(*memory)) << "it has its descriptor";
}

TEST_F(cuda_windows, an_error_that_is_not_of_memory_is_a_loss) {
  auto& gpu = tests::the_gpu();
  gpu.failing_call = "cuMemMap";
  gpu.error = 700;
  const auto lost = on_->allocate(100);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), errc::unavailable);
  EXPECT_EQ(lost.error().message().find("cuda:0 is lost: cuMemMap: an illegal memory access"),
            0u)
      << lost.error().message();
  expect_out(0);
}

}  // namespace
}  // namespace tidegate::runtime::devices::cuda
