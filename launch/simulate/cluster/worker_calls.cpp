// The calls of functions that a simulated worker makes.
#include <algorithm>
#include <string>

#include "launch/simulate/cluster/worker_tables.hpp"
#include "runtime/functions/function_library.hpp"

namespace tidegate::sim {

void worker_tables::begin_call(std::uint32_t id) {
  auto& table = tables_.at(id);
  runtime::encode(runtime::function_call{.name = "sum", .arguments = {}}, table.function);
  if (table.rows)
    for (const auto& place : table.grant.places)
      table.rows->write_call(place.chunk, table.function);
  else
    table.results.assign(table.grant.places.size(), {});
}

void worker_tables::check_call(std::uint32_t id) const {
  const auto& table = tables_.at(id);
  table.rows ? check_call_of_rows(table) : check_call_of_chunks(table);
}

void worker_tables::check_call_of_rows(const table_state& table) const {
  for (const auto& place : table.grant.places) {
    const auto results = runtime::decode_results(table.rows->results(place.chunk));
    if (!results || results->outcome != runtime::errc::ok || results->count != 1)
      return world_.check.fail("fresh", owner_.name() + ": a call of rows has no results");
    const auto first = table.first_of(place);
    world_.check.called(welcome_.token, table.grant.table, place.chunk,
                        {.values = std::span(table.parameters).subspan(first, floats_per_part),
                         .sum = results->numbers[0],
                         .is_exact = welcome_.policy == "bsp"});
  }
}

// Under bsp there is one version of a clock.
void worker_tables::check_call_of_chunks(const table_state& table) const {
  const auto id = table.grant.table;
  const auto sources = core_->tables().sources_of(id);
  const auto fails = [&](const std::string& why) {
    world_.check.fail("fresh", owner_.name() + ": a call " + why);
  };
  for (const auto& place : table.grant.places) {
    const auto results = runtime::decode_results(table.results[place.chunk]);
    if (!results || results->outcome != runtime::errc::ok || results->count != 1)
      return fails("has no results");
    if (welcome_.policy != "bsp" || !sources[place.chunk].is_current) continue;
    const auto values = std::span(table.parameters).subspan(place.first, place.elements);
    if (world_.check.has_died(welcome_.token, id, place.chunk, values)) continue;
    const auto expected = runtime::function_library::built_in().run(
        {.name = "sum", .arguments = {}}, {.parameters = values, .first = place.first});
    if (results->numbers[0] != expected.numbers[0]) return fails("is of another version");
  }
}

}  // namespace tidegate::sim
