#include "runtime/kernels/cuda/launch.cuh"
#include "runtime/kernels/cuda/launches.hpp"

namespace tidegate::runtime::kernels::cuda {

int launch_float32(const dense_inputs& inputs, const step_constants* constants,
                   const tile_arrays& at, void* stream) {
  return launch_dense<element::float32>(inputs, constants, at, stream);
}

}  // namespace tidegate::runtime::kernels::cuda
