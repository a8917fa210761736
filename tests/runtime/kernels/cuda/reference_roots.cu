// How many fused multiply-adds an IEEE square root and a division are made of, which are no
// fusions of ours: disassembly.py counts them here, with one and with two of each.

namespace {

__device__ float* reference_data;

}  // namespace

extern "C" __global__ void reference_root_1() {
  reference_data[threadIdx.x] = sqrtf(reference_data[threadIdx.x]);
}

extern "C" __global__ void reference_root_2() {
  float* at = reference_data + threadIdx.x;
  at[0] = sqrtf(at[0]);
  at[1024] = sqrtf(at[1024]);
}

extern "C" __global__ void reference_quotient_1() {
  float* at = reference_data + threadIdx.x;
  at[0] = at[0] / at[1024];
}

extern "C" __global__ void reference_quotient_2() {
  float* at = reference_data + threadIdx.x;
  at[0] = at[0] / at[1024];
  at[2048] = at[2048] / at[4096];
}
