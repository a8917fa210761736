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

status restore_source::read_table(checkpoint_id id, std::string_view name,
                                  const folder_opener& open, const table_reader& read) {
  if (auto opened = hold(id, open); !opened.ok()) return opened;
  const auto table = held_->reader.find_table(name);
  if (!table)
    return {errc::not_found,
            "checkpoint " + to_string(id) + " has no table '" + std::string(name) + "'"};
  if (auto done = read(held_->reader, *table, *held_->files); !done.ok()) return done;
  if (--held_->tables_left == 0) release();
  return {};
}

}  // namespace tidegate::policies
