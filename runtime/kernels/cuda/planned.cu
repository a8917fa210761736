#include "runtime/kernels/cuda/launch.cuh"
#include "runtime/kernels/cuda/launches.hpp"
#include "runtime/kernels/cuda/update.hpp"

namespace tidegate::runtime::kernels::cuda {

int launch_planned(const sum_plan& plan, const step_constants* constants, const tile_arrays& at,
                   void* stream) {
  return visit_step(constants, [&](const auto& step) {
    return launch(planned_sum{{plan}}, step, at, stream);
  });
}

const char* error_text(int number) noexcept {
  return cudaGetErrorString(static_cast<cudaError_t>(number));
}

}  // namespace tidegate::runtime::kernels::cuda
