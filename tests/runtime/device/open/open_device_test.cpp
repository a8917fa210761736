#include "runtime/device/open/open_device.hpp"

#include <link.h>
#include <string>

#include <gtest/gtest.h>

namespace tidegate::runtime::devices {
namespace {

// Returns the names of shared libraries of CUDA that are loaded now.
std::string cuda_libraries() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* names) {
        const std::string name(info->dlpi_name);
        if (name.find("libcuda") != std::string::npos)
          *static_cast<std::string*>(names) += name + " ";
        return 0;
      },
      &found);
  return found;
}

// Loaded as the program started, because something that is linked asks for them.
const std::string loaded_at_start = cuda_libraries();

TEST(open_device, a_program_starts_without_libraries_of_cuda) {
  EXPECT_EQ(loaded_at_start, "");
}

TEST(open_device, an_emulated_device_is_always_there) {
  const auto on = open_device("emulated:7");
  ASSERT_TRUE(on) << on.error().message();
  EXPECT_EQ((*on)->name(), "emulated:7");
  EXPECT_TRUE((*on)->allocate(100));
}

TEST(open_device, a_name_that_is_not_one_is_refused) {
  EXPECT_EQ(open_device("gpu").error().code(), errc::invalid_argument);
}

// Where there is a GPU it is opened; elsewhere the error says what is missing.
TEST(open_device, a_gpu_is_opened_or_the_error_says_why_not) {
  const auto on = open_device("cuda:0");
  if (on) {
    EXPECT_EQ((*on)->name(), "cuda:0");
    EXPECT_TRUE((*on)->allocate(100));
    EXPECT_EQ(open_device("cuda:1023").error().code(), errc::not_found);
    return;
  }
  EXPECT_EQ(on.error().code(), errc::unavailable);
  EXPECT_EQ(on.error().message().find("cuda:0: "), 0u);
  EXPECT_GT(on.error().message().size(), 40u) << "says what is missing, and what to do";
  std::printf("%s\n", on.error().message().c_str());
}

}  // namespace
}  // namespace tidegate::runtime::devices
