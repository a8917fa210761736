#include "runtime/kernels/cuda/launch.cuh"
#include "runtime/kernels/cuda/launches.hpp"

namespace tidegate::runtime::kernels::cuda {

int launch_gapped(const sum_plan& plan, const step_constants* constants, const tile_arrays& at,
                  void* stream) {
  return visit_step(constants, [&](const auto& step) {
    return launch(gapped_sum{{plan}}, around_gaps(step), at, stream);
  });
}

}  // namespace tidegate::runtime::kernels::cuda
