// How fast this machine's memory is, as loops of the same make as those of update.hpp: what a
// kernel may be compared with in the same run. The third roofline, the sum of N inputs with a
// step, is apply_update itself.
//
// Pure functions over the caller's memory, any thread. Time them over arrays larger than the
// last-level cache and touched before.
#pragma once

#include <cstddef>

namespace tidegate::runtime::kernels {

// Width of the vectors that the loops of this folder use here.
std::size_t vector_bytes() noexcept;

// Reads all of `data`; the sum of it, in no particular order.
float read_pass(const float* data, std::size_t n);

// to = from, through the caches: reads both, writes one.
void copy_pass(const float* from, float* to, std::size_t n);

// to = from, past the caches: reads one, writes one.
void stream_pass(const float* from, float* to, std::size_t n);

}  // namespace tidegate::runtime::kernels
