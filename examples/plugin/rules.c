/* A plugin: an optimizer, a step of whole rows and a reduction of your own, which shards run.
 *
 *   cd examples/plugin
 *   cc -std=c11 -O2 -ffp-contract=off -shared -fPIC -I ../../include -o librules.so rules.c -lm
 *
 * In the cluster file `cluster: {plugins: [./librules.so]}`, and of a job or table
 *
 *   optimizer: {name: plugin:lion, states: 1, learning_rate: 0.0001, beta1: 0.9, beta2: 0.99}
 *   optimizer: {name: plugin:group_soft, learning_rate: 0.1, l21: 0.01}     # of tables of rows
 *   optimizer: {name: assign, reduce: plugin:strongest}
 *
 * Results have to be the same bits on every process that makes the step: compile for one
 * processor, without fused operations that another may lack.
 */
#include <math.h>
#include <stddef.h>

#include <tidegate/plugin.h>

/* Lion: w -= lr (sign(b1 m + (1 - b1) g) + weight_decay w); m = b2 m + (1 - b2) g (Chen et al.,
 * Symbolic Discovery of Optimization Algorithms, NeurIPS 2023, algorithm 2). */
static void lion(const tidegate_step* step) {
  for (uint64_t i = 0; i < step->elements; ++i) {
    const float g = step->gradient[i];
    const float m = step->state1[i];
    const float blend = step->beta1 * m + (1.0F - step->beta1) * g;
    const float sign = (float)((blend > 0.0F) - (blend < 0.0F));
    const float w = step->parameters[i];
    step->parameters[i] = w - step->learning_rate * (sign + step->weight_decay * w);
    step->state1[i] = step->beta2 * m + (1.0F - step->beta2) * g;
  }
}

/* A gradient step, then the proximal step of lr l21 |row|: rows whose norm is small become 0
 * (Yuan & Lin, JRSS B 2006; Parikh & Boyd, Proximal Algorithms, 2014, section 6.5.1). */
static void group_soft(const tidegate_step* step) {
  double squares = 0.0;
  for (uint64_t i = 0; i < step->elements; ++i) {
    const float w = step->parameters[i] - step->learning_rate * step->gradient[i];
    step->parameters[i] = w;
    squares += (double)w * w;
  }
  const double reach = (double)step->learning_rate * step->l21;
  const double norm = sqrt(squares);
  const float share = norm > reach ? (float)(1.0 - reach / norm) : 0.0F;
  for (uint64_t i = 0; i < step->elements; ++i) step->parameters[i] *= share;
}

/* The number that is larger in absolute value, and of equal ones that of the lower rank. */
static void strongest(const float* a, const float* b, float* out, uint64_t elements) {
  for (uint64_t i = 0; i < elements; ++i) out[i] = fabsf(b[i]) > fabsf(a[i]) ? b[i] : a[i];
}

static const tidegate_optimizer optimizers[] = {
    {.name = "lion", .states = 1, .whole_rows = 0, .step = lion},
    {.name = "group_soft", .states = 0, .whole_rows = 1, .step = group_soft},
};
static const tidegate_reduction reductions[] = {{.name = "strongest", .combine = strongest}};
static const tidegate_plugin plugin = {.abi = TIDEGATE_PLUGIN_ABI,
                                       .function_count = 0,
                                       .functions = NULL,
                                       .reduction_count = 1,
                                       .optimizer_count = 2,
                                       .reductions = reductions,
                                       .optimizers = optimizers};

const tidegate_plugin* tidegate_plugin_of(void) {
  return &plugin;
}
