// Work on a GPU: calls that queue and ask, and never wait.
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/device/cuda/current_device.hpp"
#include "runtime/device/cuda/gpu.hpp"
#include "runtime/kernels/cuda/finite.hpp"
#include "runtime/kernels/cuda/rows.hpp"
#include "runtime/kernels/cuda/update.hpp"

namespace tidegate::runtime::devices::cuda {

static_assert(launch_inputs_max == kernels::cuda::plan_inputs_max);
static_assert(row_launch_floats_max == kernels::cuda::row_launch_floats_max);

status cuda_device::copy_in(stream on, std::byte* to, std::span<const std::byte> from) {
  TIDEGATE_ASSERT(registered_.holds(from), "host memory is registered");
  const current_device programs;
  if (!enter()) return lost_;
  return check(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, handle(on)),
      "cudaMemcpyAsync to the device");
}

status cuda_device::copy_out(stream on, std::span<std::byte> to, const std::byte* from) {
  TIDEGATE_ASSERT(registered_.holds(to), "host memory is registered");
  const current_device programs;
  if (!enter()) return lost_;
  return check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, handle(on)),
               "cudaMemcpyAsync to the host");
}

status cuda_device::copy(stream on, std::byte* to, const std::byte* from, std::size_t bytes) {
  const current_device programs;
  if (!enter()) return lost_;
  return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, handle(on)),
               "cudaMemcpyAsync on the device");
}

status cuda_device::find_not_finite(stream on, const float* numbers, std::size_t n,
                                    std::uint64_t* first) {
  const current_device programs;
  if (!enter()) return lost_;
  const int error = kernels::cuda::queue_find_not_finite(numbers, n, first, handle(on));
  return check(static_cast<cudaError_t>(error), "cudaLaunchKernel");
}

status cuda_device::clear(stream on, std::byte* at, std::size_t bytes) {
  const current_device programs;
  if (!enter()) return lost_;
  return check(cudaMemsetAsync(at, 0, bytes, handle(on)), "cudaMemsetAsync");
}

status cuda_device::launch(stream on, const update_launch& call) {
  TIDEGATE_ASSERT(!call.inputs.empty() && call.inputs.size() <= launch_inputs_max,
                  "a launch has inputs, and room for them");
  const current_device programs;
  if (!enter()) return lost_;
  auto powers = call.powers;
  const int error =
      call.kind == update_launch::step::assign
          ? kernels::cuda::queue_assign(call.inputs, call.arrays,
                                        kernels::gaps_of(call.options), handle(on))
          : kernels::cuda::queue_update(call.options, powers, call.inputs, call.scale,
                                        call.arrays, handle(on));
  return check(static_cast<cudaError_t>(error), "cudaLaunchKernel");
}

status cuda_device::step_rows(stream on, const row_step_launch& call) {
  const current_device programs;
  if (!enter()) return lost_;
  const int error = kernels::cuda::queue_row_step(constants_of(call.step), call.columns,
                                                  call.rows, call.count, handle(on));
  return check(static_cast<cudaError_t>(error), "cudaLaunchKernel");
}

status cuda_device::copy_rows(stream on, const row_copy_launch& call) {
  const current_device programs;
  if (!enter()) return lost_;
  const int error = kernels::cuda::queue_row_copy(call.rows, call.count, call.floats,
                                                  call.is_aligned, handle(on));
  return check(static_cast<cudaError_t>(error), "cudaLaunchKernel");
}

status cuda_device::record(stream on, event end) {
  const current_device programs;
  if (!enter()) return lost_;
  return check(cudaEventRecord(handle(end), handle(on)), "cudaEventRecord");
}

status cuda_device::wait(stream on, event end) {
  const current_device programs;
  if (!enter()) return lost_;
  return check(cudaStreamWaitEvent(handle(on), handle(end), 0), "cudaStreamWaitEvent");
}

expected<bool> cuda_device::has_ended(event end) {
  const current_device programs;
  if (!enter()) return fail(lost_);
  const auto error = cudaEventQuery(handle(end));
  if (error == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // of a query, which is no error of later calls
    return false;
  }
  if (auto ended = check(error, "cudaEventQuery"); !ended.ok()) return fail(ended);
  return true;
}

}  // namespace tidegate::runtime::devices::cuda
