// Prints what the machine code of each kernel must have, a line per kernel, for disassembly.py:
//
//   dense float32 2 adam 1 5 0 4
//
// sum, type, inputs, step; then vectors per thread, and of the path over whole tiles the loads
// of 16 and of 8 bytes and the stores of 16. A plan's loads are those beside its inputs. The
// search for numbers that are not finite has no vectors; its inputs are the numbers that a
// thread asks for at once. Steps of rows go through memory a float at a time, and copies of
// rows, whose inputs are the floats that a
// thread copies, one or four; it copies or clears.

#include <cstddef>
#include <cstdio>

#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/finite_body.hpp"

namespace {

using namespace tidegate::runtime::kernels;  // NOLINT
namespace cuda = tidegate::runtime::kernels::cuda;

template <class Step>
constexpr std::size_t arrays_read = Step::states + (Step::reads_parameters ? 1 : 0);
// The parameters, the sum, and the state.
template <class Step>
constexpr std::size_t arrays_written = 2 + Step::states;

template <element Type, std::size_t Count, class Step>
void print_dense(const char* type, const char* step) {
  if constexpr (is_fused(Type, Count)) {
    constexpr auto vectors = cuda::vectors_per_thread<cuda::dense_sum<Type, Count>, Step>;
    constexpr bool is_float = Type == element::float32;
    std::printf("dense %s %zu %s %zu %zu %zu %zu\n", type, Count, step, vectors,
                vectors * ((is_float ? Count : 0) + arrays_read<Step>),
                vectors * (is_float ? 0 : Count), vectors * arrays_written<Step>);
  }
  if constexpr (Count < fused_inputs_max) print_dense<Type, Count + 1, Step>(type, step);
}

template <class Step>
void print_step(const char* step) {
  print_dense<element::float32, 1, Step>("float32", step);
  print_dense<element::float16, 1, Step>("float16", step);
  print_dense<element::bfloat16, 1, Step>("bfloat16", step);
  constexpr auto vectors = cuda::vectors_per_thread<cuda::planned_sum, Step>;
  std::printf("planned any 0 %s %zu %zu 0 %zu\n", step, vectors, vectors * arrays_read<Step>,
              vectors * arrays_written<Step>);
  using gapped = cuda::step_around_gaps<Step>;
  constexpr auto gapped_vectors = cuda::vectors_per_thread<cuda::gapped_sum, gapped>;
  std::printf("gapped any 0 %s %zu %zu 0 %zu\n", step, gapped_vectors,
              gapped_vectors * arrays_read<gapped>, gapped_vectors * arrays_written<gapped>);
}

}  // namespace

int main() {
  print_step<cuda::sum_step>("sum");
#define TIDEGATE_PRINT(name, number) \
  print_step<cuda::optimizer_step<tidegate::runtime::optimizers::name>>(#name);
  TIDEGATE_OPTIMIZERS(TIDEGATE_PRINT)
#undef TIDEGATE_PRINT
  constexpr auto vectors = cuda::find_vectors_at_once;
  std::printf("find float32 1 finite %u %u 0 0\n", vectors, vectors);
#define TIDEGATE_PRINT(name) std::printf("rows float32 1 " #name " 1 0 0 0\n");
  TIDEGATE_PRINT(sgd)
  TIDEGATE_PRINT(adagrad)
  TIDEGATE_PRINT(adam)
  TIDEGATE_PRINT(proximal)
  TIDEGATE_PRINT(ftrl)
  TIDEGATE_PRINT(rowwise_adagrad)
  TIDEGATE_PRINT(group_adagrad)
#undef TIDEGATE_PRINT
  std::printf("rows float32 1 copy 1 0 0 0\nrows float32 4 copy 1 1 0 2\n");
  return 0;
}
