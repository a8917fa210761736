// Functions that are compiled for the CPU and for GPUs from one source, so that both make the
// same roundings. Means nothing to a compiler that knows no CUDA.
#pragma once

#ifdef __CUDACC__
#define TIDEGATE_HOST_DEVICE __host__ __device__
#else
#define TIDEGATE_HOST_DEVICE
#endif

// Before a loop that a GPU's compiler shall leave as it is.
#ifdef __CUDA_ARCH__
#define TIDEGATE_NOT_UNROLLED _Pragma("unroll 1")
#else
#define TIDEGATE_NOT_UNROLLED
#endif
