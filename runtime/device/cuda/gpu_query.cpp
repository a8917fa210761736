#include "runtime/device/cuda/gpu_query.hpp"

#include <string>

#include "runtime/device/cuda/availability.hpp"

namespace tidegate::runtime::devices::cuda {

namespace {

driver_report ask_driver() {
  driver_report report;
  static_cast<void>(cudaDriverGetVersion(&report.driver));
  static_cast<void>(cudaRuntimeGetVersion(&report.runtime));
  const auto error = cudaGetDeviceCount(&report.devices);
  report.error = static_cast<int>(error);
  if (error != cudaSuccess) report.error_text = cudaGetErrorString(error);
  static_cast<void>(cudaGetLastError());
  return report;
}

}  // namespace

status cannot_open(std::uint32_t index, cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  return {errc::unavailable, "cuda:" + std::to_string(index) +
                                 " cannot be opened: " + cudaGetErrorString(error) + " (" +
                                 cudaGetErrorName(error) + "); see nvidia-smi for who uses it"};
}

expected<cudaDeviceProp> ask_gpu(std::uint32_t index) {
  if (auto good = judge_driver(ask_driver(), index); !good.ok()) return fail(good);
  cudaDeviceProp about{};
  auto error = cudaGetDeviceProperties(&about, static_cast<int>(index));
  int mode = cudaComputeModeDefault;
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, static_cast<int>(index));
  if (error != cudaSuccess) return fail(cannot_open(index, error));
  const gpu_report gpu{.model = about.name,
                       .capability_major = about.major,
                       .capability_minor = about.minor,
                       .is_prohibited = mode == cudaComputeModeProhibited,
                       .has_unified_addresses = about.unifiedAddressing != 0};
  if (auto good = judge_gpu(gpu, index); !good.ok()) return fail(good);
  return about;
}

}  // namespace tidegate::runtime::devices::cuda
