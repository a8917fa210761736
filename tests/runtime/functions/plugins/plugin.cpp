// A plugin for tests, right or wrong in one way, as PLUGIN_KIND says when it is compiled.
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <tidegate/plugin.h>

namespace {

std::int32_t first_and_size(const tidegate_chunk* chunk, const double* arguments,
                            double* results) {
  if (arguments[0] < 0) return 1;
  results[0] = static_cast<double>(chunk->first);
  results[1] = static_cast<double>(chunk->elements) * arguments[0];
  return 0;
}

constexpr tidegate_function right{.name = "first_and_size",
                                  .arguments = 1,
                                  .results = 2,
                                  .combine = TIDEGATE_MAXIMUM,
                                  .run = first_and_size};
constexpr tidegate_function with(tidegate_function function, const char* name) {
  function.name = name;
  return function;
}

#if PLUGIN_KIND == 1  // a name that is taken
constexpr tidegate_function functions[] = {right, with(right, "sum")};
#elif PLUGIN_KIND == 2  // twice
constexpr tidegate_function functions[] = {with(right, "twice"), with(right, "twice")};
#elif PLUGIN_KIND == 3  // no name
constexpr tidegate_function functions[] = {with(right, "a b")};
#elif PLUGIN_KIND == 4  // too many results
constexpr tidegate_function functions[] = {
    {.name = "many", .arguments = 0, .results = 33, .combine = TIDEGATE_SUM, .run = right.run}};
#elif PLUGIN_KIND == 5  // nothing to run
constexpr tidegate_function functions[] = {
    {.name = "idle", .arguments = 0, .results = 1, .combine = TIDEGATE_SUM, .run = nullptr}};
#else
constexpr tidegate_function functions[] = {right, with(right, "again")};
#endif

void larger_of(const float* a, const float* b, float* out, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i) out[i] = a[i] > b[i] ? a[i] : b[i];
}

void descend(const tidegate_step* step) {
  for (std::uint64_t i = 0; i < step->elements; ++i)
    step->parameters[i] -= step->learning_rate * step->gradient[i];
}

constexpr tidegate_reduction larger{.name = "larger", .combine = larger_of};
constexpr tidegate_optimizer descent{
    .name = "descent", .states = 0, .whole_rows = 0, .step = descend};
constexpr tidegate_optimizer of_rows{
    .name = "of_rows", .states = 1, .whole_rows = 1, .step = descend};

#if PLUGIN_KIND == 9  // twice
constexpr tidegate_reduction reductions[] = {larger, larger};
#elif PLUGIN_KIND == 10  // nothing to run
constexpr tidegate_reduction reductions[] = {{.name = "larger", .combine = nullptr}};
#else
constexpr tidegate_reduction reductions[] = {larger};
#endif
#if PLUGIN_KIND == 11  // no name
constexpr tidegate_optimizer optimizers[] = {
    descent, {.name = nullptr, .states = 0, .whole_rows = 0, .step = descend}};
#elif PLUGIN_KIND == 12  // too many numbers of state
constexpr tidegate_optimizer optimizers[] = {
    {.name = "descent", .states = 3, .whole_rows = 0, .step = descend}};
#else
constexpr tidegate_optimizer optimizers[] = {descent, of_rows};
#endif

constexpr bool is_empty = PLUGIN_KIND == 7;
constexpr tidegate_plugin plugin{
    .abi = PLUGIN_KIND == 6 ? TIDEGATE_PLUGIN_ABI + 1 : TIDEGATE_PLUGIN_ABI,
    .function_count = static_cast<std::uint32_t>(is_empty ? 0 : std::size(functions)),
    .functions = functions,
    .reduction_count = static_cast<std::uint32_t>(is_empty ? 0 : std::size(reductions)),
    .optimizer_count = static_cast<std::uint32_t>(is_empty ? 0 : std::size(optimizers)),
    .reductions = reductions,
    .optimizers = PLUGIN_KIND == 13 ? nullptr : optimizers};

}  // namespace

#if PLUGIN_KIND == 8  // no entry point
const tidegate_plugin* other_name() {
  return &plugin;
}
#else
const tidegate_plugin* tidegate_plugin_of(void) {
  return &plugin;
}
#endif
