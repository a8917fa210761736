#include "actors/shard/new_chunk.hpp"

#include <cstddef>

#include "runtime/base/rng.hpp"

namespace tidegate::actors {

policies::chunk_description describe_new(const policies::open_table_call& table,
                                         const policies::owned_chunk& chunk) {
  return {.table = table.name,
          .shape = table.shape,
          .chunk = chunk.chunk,
          .first = chunk.first,
          .elements = chunk.elements,
          .optimizer = table.optimizer,
          .version = 0,
          .beta1_power = 1,
          .beta2_power = 1,
          .ranks = {},
          .rows = table.rows,
          .row_count = 0,
          .row_state = 0};
}

void write_initial(const policies::open_table_call& table, const policies::owned_chunk& chunk,
                   std::span<float> values) {
  const auto& init = table.init;
  const bool uniform = init.kind == policies::init_kind::uniform;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = uniform ? init.value * runtime::uniform_signed(table.init_key, chunk.first + i)
                        : init.value;
}

}  // namespace tidegate::actors
