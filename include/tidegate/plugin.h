/* What a plugin is to Tidegate: a shared library with functions that shards run on their chunks.
 *
 *   #include <tidegate/plugin.h>
 *
 *   static int32_t count_between(const tidegate_chunk* chunk, const double* arguments,
 *                                double* results) { ... }
 *   static const tidegate_function functions[] = {{
 *       .name = "count_between", .arguments = 2, .results = 1, .combine = TIDEGATE_SUM,
 *       .run = count_between}};
 *   static const tidegate_plugin plugin = {
 *       .abi = TIDEGATE_PLUGIN_ABI, .functions = functions, .function_count = 1};
 *   const tidegate_plugin* tidegate_plugin_of(void) { return &plugin; }
 *
 *   cc -shared -fPIC -o libmine.so mine.c       and in the cluster file: plugins: [./libmine.so]
 *
 * C and C++, this header alone. A library is loaded once in each process of a shard or
 * aggregator, and stays. A function that crashes, or does not return within
 * cluster.plugin_timeout, ends its process, as a kill does; the log names the function.
 */
#ifndef TIDEGATE_PLUGIN_H
#define TIDEGATE_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when one of the types below changes. A library of another number is refused. */
#define TIDEGATE_PLUGIN_ABI 1u

#define TIDEGATE_NUMBERS_MAX 32u /* arguments of a function, and results of a chunk */

/* How the results of chunks become one, element by element, in the order of chunks. */
enum { TIDEGATE_SUM = 0, TIDEGATE_PRODUCT = 1, TIDEGATE_MINIMUM = 2, TIDEGATE_MAXIMUM = 3 };

/* A run of elements of a table in one version, for reading. Valid during the call. */
typedef struct tidegate_chunk {
  const float* parameters;
  uint64_t elements; /* of the chunk, at least one */
  uint64_t first;    /* the index of its first element in the table */
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

typedef struct tidegate_plugin {
  uint32_t abi; /* TIDEGATE_PLUGIN_ABI */
  uint32_t function_count;
  const tidegate_function* functions;
} tidegate_plugin;

/* The symbol that a library exports. What it returns stays. */
const tidegate_plugin* tidegate_plugin_of(void);

#ifdef __cplusplus
}
#endif

#endif /* TIDEGATE_PLUGIN_H */
