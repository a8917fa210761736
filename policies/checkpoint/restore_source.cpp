#include "policies/checkpoint/restore_source.hpp"

#include <string>
#include <utility>

#include "policies/checkpoint/catalog.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

status restore_source::hold(checkpoint_id id, const folder_opener& open) {
  if (held_ && held_->id == id) return {};
  held_.reset();
  auto files = open();
  if (!files) return files.error();
  auto reader = open_checkpoint(**files, id);
  if (!reader) return reader.error();
  const auto tables = reader->manifest().tables.size();
  held_.emplace(held_checkpoint{.id = id,
                                .files = std::move(*files),
                                .reader = std::move(*reader),
                                .tables_left = tables});
  return {};
}

runtime::expected<restore_source::stored_table> restore_source::find_table(
    checkpoint_id id, std::string_view name, const folder_opener& open) {
  if (auto opened = hold(id, open); !opened.ok()) return runtime::fail(opened);
  const auto table = held_->reader.find_table(name);
  if (!table)
    return runtime::fail(errc::not_found, "checkpoint " + to_string(id) + " has no table '" +
                                              std::string(name) + "'");
  return stored_table{held_->reader, *table, *held_->files};
}

void restore_source::table_read() {
  if (held_ && --held_->tables_left == 0) release();
}

}  // namespace tidegate::policies
