// Windows between processes, on emulated devices.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/device/emulated/emulated_device.hpp"
#include "tests/runtime/device/window_owner.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr std::size_t window_bytes = 4000;

[[noreturn]] void run_worker(int names) {
  emulated_device on({.index = 3, .seed = 1, .paced_by = emulated_options::pace::caller});
  tests::show_window(on, window_bytes, names);
}

class windows : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    worker_ = ::fork();
    if (worker_ == 0) run_worker(ends[1]);
    ASSERT_EQ(::read(ends[0], name_.bytes.data(), sizeof name_.bytes),
              static_cast<ssize_t>(sizeof name_.bytes));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void TearDown() override { end_worker(); }
  void end_worker() {
    if (worker_ <= 0) return;
    ::kill(worker_, SIGKILL);
    ::waitpid(worker_, nullptr, 0);
    worker_ = -1;
  }

  pid_t worker_ = -1;
  window_name name_;
};

TEST_F(windows, work_reads_what_the_other_process_wrote) {
  emulated_device on({.index = 3, .paced_by = emulated_options::pace::caller});
  auto window = on.open_window(name_);
  ASSERT_TRUE(window) << window.error().message();
  ASSERT_EQ(window->size(), window_bytes);
  const auto a = *on.make_stream();
  EXPECT_TRUE(tests::reads_shown(on, a, window->data(), window_bytes));
  EXPECT_EQ(on.name_window(*window).error().code(), errc::invalid_argument);
  EXPECT_EQ(on.bytes_out(), 0u) << "it is the other's memory";
  ASSERT_TRUE(on.clear(a, window->data(), 4).ok());
  EXPECT_FALSE(on.synchronize().ok()) << "windows are for reading";
}

TEST_F(windows, lead_to_the_same_device_of_a_process_that_lives) {
  emulated_device other({.index = 4, .paced_by = emulated_options::pace::caller});
  EXPECT_EQ(other.open_window(name_).error().code(), errc::unavailable);
  emulated_device on({.index = 3, .paced_by = emulated_options::pace::caller});
  auto wrong = name_;
  wrong.bytes[0] ^= std::byte{1};
  EXPECT_EQ(on.open_window(wrong).error().code(), errc::corrupt);
  EXPECT_EQ(on.open_window({}).error().code(), errc::corrupt);
  end_worker();
  EXPECT_EQ(on.open_window(name_).error().code(), errc::unavailable);
}

}  // namespace
}  // namespace tidegate::runtime::devices
