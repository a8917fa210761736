// Windows between processes, on emulated devices.
#include <csignal>
#include <cstring>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr std::size_t window_bytes = 4000;

// A worker: fills memory of its device by work of its own, says where it is when an event says
// that it is there, and lives until it is killed.
[[noreturn]] void run_worker(int names) {
  emulated_device on({.index = 3, .seed = 1, .paced_by = emulated_options::pace::caller});
  auto host = on.allocate_host(window_bytes);
  auto memory = on.allocate(window_bytes);
  const auto a = on.make_stream();
  const auto end = on.make_event();
  if (!host || !memory || !a || !end) ::_exit(1);
  std::memset(host->bytes().data(), 0x41, window_bytes);
  if (!on.copy_in(*a, memory->data(), host->bytes()).ok() || !on.record(*a, *end).ok())
    ::_exit(2);
  while (!on.has_ended(*end).value_or(true)) continue;
  const auto name = on.name_window(*memory);
  if (!name || ::write(names, name->bytes.data(), sizeof name->bytes) < 0) ::_exit(3);
  while (true) ::pause();
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
  auto host = on.allocate_host(window_bytes);
  const auto a = *on.make_stream();
  ASSERT_TRUE(on.copy_out(a, host->bytes(), window->data()).ok());
  ASSERT_TRUE(on.synchronize().ok());
  for (const auto byte : host->bytes()) ASSERT_EQ(byte, std::byte{0x41});
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
