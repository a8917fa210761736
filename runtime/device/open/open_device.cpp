#include "runtime/device/open/open_device.hpp"

#include <string>

#include "runtime/device/device_name.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

#ifdef TIDEGATE_HAS_CUDA
#include "runtime/device/cuda/cuda_device.hpp"
#endif

namespace tidegate::runtime::devices {

namespace {

expected<std::unique_ptr<device>> open_cuda(std::uint32_t index) {
#ifdef TIDEGATE_HAS_CUDA
  return cuda::open_gpu(index);
#else
  return fail(errc::unavailable,
              "cuda:" + std::to_string(index) +
                  ": this program was built without CUDA; build it where there is an nvcc "
                  "(cmake -DTIDEGATE_CUDA=ON)");
#endif
}

}  // namespace

expected<std::unique_ptr<device>> open_device(std::string_view name) {
  const auto parsed = parse_device_name(name);
  if (!parsed) return fail(parsed.error());
  if (parsed->kind == backend::cuda) return open_cuda(parsed->index);
  return std::make_unique<emulated_device>(
      emulated_options{.index = parsed->index, .seed = parsed->index});
}

}  // namespace tidegate::runtime::devices
