#include "runtime/device/device_name.hpp"

#include <gtest/gtest.h>

namespace tidegate::runtime::devices {
namespace {

TEST(device_name, has_a_backend_and_an_index) {
  EXPECT_EQ(parse_device_name("cuda:0"), (device_name{backend::cuda, 0}));
  EXPECT_EQ(parse_device_name("cuda:17"), (device_name{backend::cuda, 17}));
  EXPECT_EQ(parse_device_name("emulated:1023"), (device_name{backend::emulated, 1023}));
}

TEST(device_name, anything_else_is_refused_with_how_to_write_it) {
  for (const char* text : {"", "cuda", "cuda:", ":0", "cuda:-1", "cuda:0 ", "cuda:1024",
                           "cuda:99999999999", "gpu:0", "CUDA:0", "emulated:x", "cuda:0:1"}) {
    const auto name = parse_device_name(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code(), errc::invalid_argument);
    EXPECT_NE(name.error().message().find("write cuda:N or emulated:N"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidegate::runtime::devices
