/* What a plugin is to Tidegate: a shared library with functions that shards run on their
 * chunks and parts, with optimizers that make their steps, and with reductions that make one gradient of
 * those of several workers. At least one of the three.
 *
 *   #include <tidegate/plugin.h>
 *
 *   static int32_t count_between(const tidegate_chunk* chunk, const double* arguments,
 *                                double* results) { ... }
 *   static const tidegate_function functions[] = {{
 *       .name = "count_between", .arguments = 2, .results = 1, .combine = TIDEGATE_SUM,
 *       .run = count_between}};
 *   static const tidegate_plugin plugin = {
 *       .abi = TIDEGATE_PLUGIN_ABI, .function_count = 1, .functions = functions};
 *   const tidegate_plugin* tidegate_plugin_of(void) { return &plugin; }
 *
 *   cc -shared -fPIC -o libmine.so mine.c
 *
 * and in the cluster file `plugins: [./libmine.so]`.
 *
 * C and C++, this header alone. A library is loaded once in each process of a shard or
 * aggregator, and stays. Code of it that crashes, or does not return within
 * cluster.plugin_timeout, ends its process, as a kill does; the log names it. The time is that
 * of a function, and of a step or reduction of a whole chunk or batch of rows.
 */
#ifndef TIDEGATE_PLUGIN_H
#define TIDEGATE_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when one of the types below changes. A library of another number is refused. */
#define TIDEGATE_PLUGIN_ABI 3u

#define TIDEGATE_NUMBERS_MAX 32u /* arguments of a function, and results of a chunk */

/* How the results of chunks become one, element by element, in the order of chunks; of parts, in
 * the order of parts, where one without rows adds nothing. */
enum { TIDEGATE_SUM = 0, TIDEGATE_PRODUCT = 1, TIDEGATE_MINIMUM = 2, TIDEGATE_MAXIMUM = 3 };

/* A run of elements of a table in one version, for reading: a chunk of a dense table, or all
 * rows that a part of a table of rows has, one behind the other. Valid during the call. */
typedef struct tidegate_chunk {
  const float* parameters;
  uint64_t elements; /* at least one */
  uint64_t first;    /* the index of the first element in the table; 0 of rows */
  /* Of a table of rows: ids[i] is the id of the row at parameters + i * dim, of elements / dim
   * rows; ids ascend. Null and 0 of a dense table. */
  const uint64_t* ids;
  uint64_t dim;
} tidegate_chunk;

/* A function of a chunk. What it returns must follow from the chunk and the arguments alone:
 * shards, and replicas that take their place, compute it anew. Several threads may run it at a
 * time. */
typedef struct tidegate_function {
  const char* name;   /* 1 to 63 of A-Z a-z 0-9 _ - . ; not that of another function */
  uint32_t arguments; /* as many, at most TIDEGATE_NUMBERS_MAX */
  uint32_t results;   /* as many, 1 to TIDEGATE_NUMBERS_MAX */
  uint32_t combine;   /* TIDEGATE_SUM and so on */
  /* Writes `results` numbers. Returns 0, or anything else to refuse the arguments. */
  int32_t (*run)(const tidegate_chunk* chunk, const double* arguments, double* results);
} tidegate_function;

/* How two gradients become one: those of two workers, or of two groups of them. Asked for as
 * `reduce: plugin:NAME` of a table's optimizer. Gradients are combined along a balanced tree
 * over the ranks of those who pushed, so the operation has to be associative as far as its
 * rounding allows, and need not be commutative. */
typedef struct tidegate_reduction {
  const char* name; /* 1 to 23 of A-Z a-z 0-9 _ - . ; not that of another reduction */
  /* Writes out[i], which follows from a[i], of the lower ranks, and b[i] alone. `out` overlaps
   * neither. Which elements come together, and how many, says nothing. */
  void (*combine)(const float* a, const float* b, float* out, uint64_t elements);
} tidegate_reduction;

#define TIDEGATE_STATES_MAX 2u

/* A step of some elements. The arrays overlap nowhere. */
typedef struct tidegate_step {
  const float* gradient; /* reduced, scaled (as a mean is) and clipped (clip_value) */
  float* parameters;     /* before the step; the rule writes those after it */
  float* state1; /* as the step before has left it, 0 at first; null where there is none */
  float* state2;
  uint64_t elements; /* at least one */
  /* Options of the optimizer, by their names in YAML; the schedule is in the learning rate. */
  float learning_rate, momentum, beta1, beta2, epsilon, weight_decay, l1, l2, beta, l21;
  /* beta1 and beta2 to the power of the number of steps, with this one; of the number of clocks
   * where steps are lazy, as those of rows are. */
  double beta1_power, beta2_power;
} tidegate_step;

/* How a step is made. Asked for as `optimizer: {name: plugin:NAME, states: N}`. */
typedef struct tidegate_optimizer {
  const char* name;    /* 1 to 23 of A-Z a-z 0-9 _ - . ; not that of another optimizer */
  uint32_t states;     /* numbers that it keeps for each element, at most TIDEGATE_STATES_MAX */
  uint32_t whole_rows; /* 1: its elements are all of a row, or of a segment of a row, so that
                          dense tables cannot have it; 0: each element is stepped by itself, and
                          which of them come together says nothing */
  /* What it writes must follow from the step alone: replicas make it anew. Several threads may
   * run it at a time. */
  void (*step)(const tidegate_step* step);
} tidegate_optimizer;

typedef struct tidegate_plugin {
  uint32_t abi; /* TIDEGATE_PLUGIN_ABI */
  uint32_t function_count;
  const tidegate_function* functions;
  uint32_t reduction_count;
  uint32_t optimizer_count;
  const tidegate_reduction* reductions;
  const tidegate_optimizer* optimizers;
} tidegate_plugin;

/* The symbol that a library exports. What it returns stays. */
const tidegate_plugin* tidegate_plugin_of(void);

#ifdef __cplusplus
}
#endif

#endif /* TIDEGATE_PLUGIN_H */
