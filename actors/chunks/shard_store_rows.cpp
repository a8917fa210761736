// What a shard's memory does with tables of rows.
#include <utility>

#include "actors/chunks/shard_store.hpp"
#include "actors/shard/new_chunk.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

using runtime::status;

// With the first table of rows.
status shard_store::open_device_rows() {
  if (!device_ || tried_device_rows_) return {};
  tried_device_rows_ = true;
  auto on_device = rows_on_device::make(*device_, memory_, work_, bytes_for_rows_);
  if (on_device) {
    device_rows_ = std::move(*on_device);
    rows().set_engines(&device_rows_->engines());
    return {};
  }
  if (on_device.error().code() != runtime::errc::invalid_argument) return on_device.error();
  runtime::log::info("rows of tables stay in memory of the host: " +
                     on_device.error().message());
  return {};
}

std::vector<std::string> shard_store::accounts_of_rows() const {
  auto lines = rows().accounts();
  if (!device_rows_) return lines;
  if (auto line = device_rows_->account(); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

status shard_store::add_rows(const policies::open_table_call& table,
                             std::span<const policies::owned_chunk> chunks,
                             const store_options& options) {
  for (const auto& chunk : chunks) {
    auto& state = chunks_.emplace_back();  // also on failure: slots are those of the core
    state.table = table.table;
    state.about = describe_new(table, chunk);
  }
  if (auto opened = open_device_rows(); !opened.ok()) {
    memory_.use_up(table.table, chunks);
    return opened;
  }
  auto added = memory_.add_rows(table, chunks, options.reduce,
                                policies::clip_norm_of(options.clip_norm, table.optimizer.kind),
                                options.keeps);
  if (added.ok() && device_rows_ && !chunks.empty() && !rows().has_engine(chunks.front().slot))
    runtime::log::info("table " + table.name +
                       ": its rows stay in memory of the host, as they lie in a file, are "
                       "evicted by l2, or are stepped by a plugin");
  return added;
}

std::span<const row_store::input> shard_store::batches_of(inputs from) {
  batches_.clear();
  for (const auto& input : from)
    batches_.push_back({input.rank, memory_.payload_bytes(input.payload)});
  return batches_;
}

status shard_store::apply_rows(const effects::apply& apply, inputs from) {
  const auto before = device_rows_ ? device_rows_->last_queued() : 0;
  auto applied = rows().apply(apply, batches_of(from));
  if (rows().has_engine(apply.slot))
    for (const auto& input : from) device_rows_->keep(input.payload, before);
  return applied;
}

}  // namespace tidegate::actors
