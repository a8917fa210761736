#include "runtime/device/cuda/availability.hpp"

#include <gtest/gtest.h>

#include "runtime/device/cuda/window_fields.hpp"

namespace tidegate::runtime::devices::cuda {
namespace {

const driver_report good_driver{
    .driver = 13'010, .runtime = 13'000, .error = 0, .error_text = "", .devices = 2};
const gpu_report good_gpu{.model = "NVIDIA H100 80GB HBM3", .capability_major = 9};

void expect_refused(const status& outcome, errc code, const std::string& part) {
  EXPECT_EQ(outcome.code(), code);
  EXPECT_NE(outcome.message().find(part), std::string::npos) << outcome.message();
  EXPECT_EQ(outcome.message().find("cuda:1: "), 0u) << outcome.message();
}

TEST(availability, a_driver_and_a_gpu_are_enough) {
  EXPECT_TRUE(judge_driver(good_driver, 0).ok());
  EXPECT_TRUE(judge_driver(good_driver, 1).ok());
  EXPECT_TRUE(judge_gpu(good_gpu, 1).ok());
}

TEST(availability, says_which_part_of_the_driver_is_missing) {
  auto driver = good_driver;
  driver.driver = 0;
  driver.error = 35;  // as the runtime says where there is no driver
  expect_refused(judge_driver(driver, 1), errc::unavailable, "has no NVIDIA driver");
  driver = good_driver;
  driver.error = 34;
  expect_refused(judge_driver(driver, 1), errc::unavailable, "has no NVIDIA driver");
  driver.driver = 12'080;
  driver.error = 35;
  expect_refused(judge_driver(driver, 1), errc::unavailable,
                 "too old: it knows CUDA 12.8, this program needs 13.0");
  driver = good_driver;
  driver.error = 100;
  driver.devices = 0;
  expect_refused(judge_driver(driver, 1), errc::unavailable, "shows no GPU to this process");
  driver.error = 802;
  expect_refused(judge_driver(driver, 1), errc::unavailable, "nvidia-fabricmanager");
  driver.error = 803;
  expect_refused(judge_driver(driver, 1), errc::unavailable, "another than libcuda.so.1");
  driver.error = 999;
  driver.error_text = "unknown error";
  expect_refused(judge_driver(driver, 1), errc::unavailable, "unknown error (error 999)");
}

TEST(availability, says_how_many_gpus_there_are) {
  auto driver = good_driver;
  driver.devices = 1;
  expect_refused(judge_driver(driver, 1), errc::not_found, "sees 1 GPU, cuda:0");
  EXPECT_EQ(judge_driver(good_driver, 2).message(),
            "cuda:2: this process sees 2 GPUs, from cuda:0 to cuda:1");
}

TEST(availability, says_which_gpus_are_not_supported) {
  auto gpu = good_gpu;
  gpu.model = "Tesla V100-SXM2-16GB";
  gpu.capability_major = 7;
  expect_refused(judge_gpu(gpu, 1), errc::unavailable, "has compute capability 7.0");
  gpu = good_gpu;
  gpu.model = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  expect_refused(judge_gpu(gpu, 1), errc::unavailable, "MIG");
  gpu = good_gpu;
  gpu.is_prohibited = true;
  expect_refused(judge_gpu(gpu, 1), errc::unavailable, "prohibited");
  gpu = good_gpu;
  gpu.has_unified_addresses = false;
  expect_refused(judge_gpu(gpu, 1), errc::unavailable, "unified addresses");
}

TEST(window_fields, come_back_and_are_refused_by_other_gpus) {
  window_fields fields;
  fields.bytes = 4711;
  fields.gpu.fill(std::byte{7});
  fields.pid = 4712;
  fields.descriptor = 9;
  fields.started = std::uint64_t{1} << 40;
  const auto name = encode(fields);
  const auto back = decode_window(name, fields.gpu, "cuda:0");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bytes, 4711u);
  EXPECT_EQ(back->pid, 4712);
  EXPECT_EQ(back->descriptor, 9);
  EXPECT_EQ(back->started, fields.started);
  EXPECT_EQ(decode_window(name, {}, "cuda:0").error().code(), errc::unavailable);
  EXPECT_EQ(decode_window({}, fields.gpu, "cuda:0").error().code(), errc::corrupt);
  fields.bytes = window_bytes_max + 1;
  EXPECT_EQ(decode_window(encode(fields), fields.gpu, "cuda:0").error().code(), errc::corrupt);
}

}  // namespace
}  // namespace tidegate::runtime::devices::cuda
