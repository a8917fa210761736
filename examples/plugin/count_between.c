/* A plugin: functions of your own that shards run where the parameters are.
 *
 *   cd examples/plugin
 *   cc -std=c11 -O2 -shared -fPIC -I ../../include -o libcount_between.so count_between.c
 *
 * In the cluster file `cluster: {plugins: [./libcount_between.so]}`, and in a worker
 * t.call("count_between", -0.1, 0.1), or session.call(table, "moments").
 */
#include <tidegate/plugin.h>

/* How many elements lie in [arguments[0], arguments[1]). */
static int32_t count_between(const tidegate_chunk* chunk, const double* arguments,
                             double* results) {
  if (!(arguments[0] <= arguments[1])) return 1; /* refused */
  uint64_t count = 0;
  for (uint64_t i = 0; i < chunk->elements; ++i) {
    const double x = chunk->parameters[i];
    if (x >= arguments[0] && x < arguments[1]) ++count;
  }
  results[0] = (double)count;
  return 0;
}

/* The number of elements, their sum, and the sum of their squares. */
static int32_t moments(const tidegate_chunk* chunk, const double* arguments, double* results) {
  (void)arguments;
  results[0] = (double)chunk->elements;
  results[1] = results[2] = 0.0;
  for (uint64_t i = 0; i < chunk->elements; ++i) {
    const double x = chunk->parameters[i];
    results[1] += x;
    results[2] += x * x;
  }
  return 0;
}

/* Of a table of rows: how many have a norm below arguments[0]. */
static int32_t small_rows(const tidegate_chunk* chunk, const double* arguments,
                          double* results) {
  const double limit = arguments[0] * arguments[0];
  if (chunk->dim == 0) return 1; /* a dense table is refused */
  results[0] = 0.0;
  for (uint64_t at = 0; at < chunk->elements; at += chunk->dim) {
    double squares = 0.0;
    for (uint64_t i = at; i < at + chunk->dim; ++i)
      squares += (double)chunk->parameters[i] * chunk->parameters[i];
    if (squares < limit) ++results[0];
  }
  return 0;
}

/* Of a table of rows: the least id. */
static int32_t least_id(const tidegate_chunk* chunk, const double* arguments, double* results) {
  (void)arguments;
  if (chunk->dim == 0) return 1;
  results[0] = (double)chunk->ids[0]; /* ids ascend */
  return 0;
}

static const tidegate_function functions[] = {
    {.name = "count_between",
     .arguments = 2,
     .results = 1,
     .combine = TIDEGATE_SUM,
     .run = count_between},
    {.name = "moments", .arguments = 0, .results = 3, .combine = TIDEGATE_SUM, .run = moments},
    {.name = "small_rows",
     .arguments = 1,
     .results = 1,
     .combine = TIDEGATE_SUM,
     .run = small_rows},
    {.name = "least_id",
     .arguments = 0,
     .results = 1,
     .combine = TIDEGATE_MINIMUM,
     .run = least_id},
};
static const tidegate_plugin plugin = {
    .abi = TIDEGATE_PLUGIN_ABI, .function_count = 4, .functions = functions};

const tidegate_plugin* tidegate_plugin_of(void) {
  return &plugin;
}
