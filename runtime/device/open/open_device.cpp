#include "runtime/device/open/open_device.hpp"

#include <string>

#include "runtime/device/device_name.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

#ifdef TIDEGATE_HAS_CUDA
#include "runtime/device/cuda/cuda_device.hpp"
#endif

namespace tidegate::runtime::devices {

namespace {

#ifdef TIDEGATE_HAS_CUDA
using cuda::check_gpu;
using cuda::open_gpu;
#else
status check_gpu(std::uint32_t index) {
  return {errc::unavailable,
          "cuda:" + std::to_string(index) +
              ": this program was built without CUDA; build it where there is an nvcc "
              "(cmake -DTIDEGATE_CUDA=ON)"};
}
expected<std::unique_ptr<device>> open_gpu(std::uint32_t index) {
  return fail(check_gpu(index));
}
#endif

}  // namespace

expected<std::unique_ptr<device>> open_device(std::string_view name) {
  const auto parsed = parse_device_name(name);
  if (!parsed) return fail(parsed.error());
  if (parsed->kind == backend::cuda) return open_gpu(parsed->index);
  return std::make_unique<emulated_device>(
      emulated_options{.index = parsed->index, .seed = parsed->index});
}

status check_device(std::string_view name) {
  const auto parsed = parse_device_name(name);
  if (!parsed) return parsed.error();
  return parsed->kind == backend::cuda ? check_gpu(parsed->index) : status();
}

}  // namespace tidegate::runtime::devices
