#include "runtime/device/cuda/availability.hpp"

namespace tidegate::runtime::devices::cuda {

namespace {

// Of CUDA's numbers of errors, which are stable (driver_types.h): no header of CUDA is needed.
constexpr int error_stub_library = 34;
constexpr int error_insufficient_driver = 35;
constexpr int error_no_device = 100;
constexpr int error_system_not_ready = 802;
constexpr int error_driver_mismatch = 803;

std::string name_of(std::uint32_t index) {
  return "cuda:" + std::to_string(index);
}

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

status unavailable(std::uint32_t index, const std::string& why) {
  return {errc::unavailable, name_of(index) + ": " + why};
}

}  // namespace

status judge_driver(const driver_report& driver, std::uint32_t index) {
  if (driver.driver == 0 || driver.error == error_stub_library)
    return unavailable(
        index, "this machine has no NVIDIA driver (libcuda.so.1); install one of CUDA " +
                   version(driver.runtime) +
                   " or newer, or start the container with access to the GPU");
  if (driver.driver / 1000 < driver.runtime / 1000 || driver.error == error_insufficient_driver)
    return unavailable(index, "the NVIDIA driver is too old: it knows CUDA " +
                                  version(driver.driver) + ", this program needs " +
                                  version(driver.runtime) + "; install a newer driver");
  if (driver.error == error_no_device || (driver.error == 0 && driver.devices == 0))
    return unavailable(index,
                       "the NVIDIA driver shows no GPU to this process; see nvidia-smi, "
                       "CUDA_VISIBLE_DEVICES, and whether MIG is on without an instance");
  if (driver.error == error_system_not_ready)
    return unavailable(index,
                       "the NVIDIA driver is not ready; see whether nvidia-fabricmanager runs");
  if (driver.error == error_driver_mismatch)
    return unavailable(index,
                       "the NVIDIA driver of the kernel is another than libcuda.so.1; restart "
                       "the machine after a driver's update");
  if (driver.error != 0)
    return unavailable(index, "CUDA says: " + driver.error_text + " (error " +
                                  std::to_string(driver.error) + ")");
  if (index >= static_cast<std::uint32_t>(driver.devices))
    return {
        errc::not_found,
        name_of(index) + ": this process sees " + std::to_string(driver.devices) +
            (driver.devices == 1 ? " GPU, cuda:0" : " GPUs, from cuda:0 to ") +
            (driver.devices == 1 ? ""
                                 : name_of(static_cast<std::uint32_t>(driver.devices - 1)))};
  return {};
}

status judge_gpu(const gpu_report& gpu, std::uint32_t index) {
  if (gpu.capability_major < capability_major_min)
    return unavailable(index, gpu.model + " has compute capability " +
                                  std::to_string(gpu.capability_major) + "." +
                                  std::to_string(gpu.capability_minor) +
                                  "; Tidegate needs 8.0 (Ampere) or newer");
  if (gpu.model.find(" MIG ") != std::string::npos)
    return unavailable(index, gpu.model +
                                  " is a slice of a GPU (MIG), whose memory other processes "
                                  "cannot be shown; use a whole GPU");
  if (gpu.is_prohibited)
    return unavailable(index,
                       gpu.model + " is in compute mode 'prohibited'; see nvidia-smi -c");
  if (!gpu.has_unified_addresses)
    return unavailable(index, gpu.model + " has no unified addresses");
  return {};
}

}  // namespace tidegate::runtime::devices::cuda
