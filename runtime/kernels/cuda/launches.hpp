// What the .cu files offer to update.cpp: internal to this folder. Each queues one kernel and
// returns CUDA's error number; without constants it sums and makes no step.
#pragma once

#include "runtime/kernels/cuda/sum_plan.hpp"
#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/fused.hpp"

namespace tidegate::runtime::kernels::cuda {

int launch_float32(const dense_inputs& inputs, const step_constants* constants,
                   const tile_arrays& at, void* stream);
int launch_float16(const dense_inputs& inputs, const step_constants* constants,
                   const tile_arrays& at, void* stream);
int launch_bfloat16(const dense_inputs& inputs, const step_constants* constants,
                    const tile_arrays& at, void* stream);
int launch_planned(const sum_plan& plan, const step_constants* constants, const tile_arrays& at,
                   void* stream);
// The same over inputs that may have gaps.
int launch_gapped(const sum_plan& plan, const step_constants* constants, const tile_arrays& at,
                  void* stream);

}  // namespace tidegate::runtime::kernels::cuda
