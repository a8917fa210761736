#include "policies/checkpoint/reader.hpp"

#include <algorithm>
#include <array>

#include "policies/checkpoint/changed_rows.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::fail;
using runtime::status;
using runtime::storage;

namespace {

runtime::expected<shard_file_contents> read_contents(storage& from, const written_file& file) {
  const auto bytes = from.size(file.name);
  if (!bytes) return fail(bytes.error());
  if (*bytes != file.bytes)
    return fail(errc::corrupt, file.name + ": has " + std::to_string(*bytes) + " bytes, not " +
                                   std::to_string(file.bytes));
  std::array<std::byte, safetensors_head_bytes> head{};
  if (auto read = from.read(file.name, 0, head); !read) return fail(std::move(read));
  const auto size = safetensors_header_bytes(head, *bytes);
  if (!size) return fail(errc::corrupt, file.name + ": " + size.error().message());
  std::string text(static_cast<std::size_t>(*size), '\0');
  auto read = from.read(file.name, head.size(), std::as_writable_bytes(std::span(text)));
  if (!read) return fail(std::move(read));
  auto contents = decode_shard_file(text, *bytes);
  if (!contents)
    return fail(contents.error().code(), file.name + ": " + contents.error().message());
  return contents;
}

}  // namespace

runtime::expected<checkpoint_manifest> read_manifest(storage& from, checkpoint_id id) {
  const auto name = manifest_name(id);
  const auto bytes = from.size(name);
  if (!bytes) return fail(bytes.error());
  if (*bytes > manifest_bytes_max)
    return fail(errc::corrupt, name + ": a manifest has at most 64 MiB");
  std::string text(static_cast<std::size_t>(*bytes), '\0');
  if (auto read = from.read(name, 0, std::as_writable_bytes(std::span(text))); !read)
    return fail(std::move(read));
  auto manifest = decode_manifest(text);
  if (!manifest) return fail(manifest.error().code(), name + ": " + manifest.error().message());
  if (manifest->id != id)
    return fail(errc::corrupt, name + ": is the manifest of " + to_string(manifest->id));
  return manifest;
}

namespace {

std::uint64_t chunks_of(const checkpoint_part& part) {
  std::uint64_t sum = 0;
  for (const auto& run : part.chunks) sum += run.count;
  return sum;
}

}  // namespace

runtime::expected<checkpoint_reader> checkpoint_reader::open(storage& from,
                                                             checkpoint_manifest manifest) {
  return open(from, std::move(manifest), checkpoint_chain_max);
}

runtime::expected<checkpoint_reader> checkpoint_reader::open(storage& from,
                                                             checkpoint_manifest manifest,
                                                             std::uint32_t chain_left) {
  checkpoint_reader reader(std::move(manifest));
  for (std::uint32_t table = 0; table < reader.manifest_.tables.size(); ++table)
    reader.tables_[reader.manifest_.tables[table].name] = table;
  for (std::uint32_t part = 0; part < reader.manifest_.parts.size(); ++part)
    if (auto added = reader.add_part(from, part); !added) return fail(std::move(added));
  for (auto& chunks : reader.chunks_)
    std::sort(chunks.begin(), chunks.end(), [](const chunk& a, const chunk& b) {
      return a.stored.about.chunk < b.stored.about.chunk;
    });
  if (auto checked = reader.check_tables(); !checked) return fail(std::move(checked));
  if (auto opened = reader.open_base(from, chain_left); !opened) return fail(std::move(opened));
  return reader;
}

status checkpoint_reader::open_base(storage& from, std::uint32_t chain_left) {
  const auto base = manifest_.base;
  if (base.number > 0) {
    if (chain_left <= 1)
      return {errc::corrupt, "checkpoint " + to_string(manifest_.id) + ": needs more than " +
                                 std::to_string(checkpoint_chain_max - 1) + " others"};
    auto manifest = read_manifest(from, base);
    if (!manifest) return manifest.error();
    auto opened = open(from, std::move(*manifest), chain_left - 1);
    if (!opened) return opened.error();
    base_ = std::make_shared<const checkpoint_reader>(std::move(*opened));
  }
  for (const auto& chunks : chunks_)
    for (const auto& chunk : chunks)
      if (auto checked = check_base(chunk.stored); !checked.ok()) return checked;
  return {};
}

const checkpoint_reader::chunk* checkpoint_reader::base_of(
    const chunk_description& about) const {
  const auto table = base_ ? base_->find_table(about.table) : std::nullopt;
  if (!table || about.chunk >= base_->chunks(*table).size()) return nullptr;
  return &base_->chunks(*table)[about.chunk];
}

status checkpoint_reader::check_base(const stored_chunk& stored) const {
  const auto& about = stored.about;
  if (!about.needs_base()) return {};
  const auto* const base = base_of(about);
  const auto fits = [&](const chunk_description& before) {
    return before.rows == about.rows && before.row_state == about.row_state &&
           before.shape == about.shape &&
           about.row_count - about.changed_count <= before.row_count;
  };
  if (about.base == manifest_.base && base != nullptr &&
      base_->manifest().job == manifest_.job && fits(base->stored.about))
    return {};
  return {errc::corrupt, "checkpoint " + to_string(manifest_.id) + ": table '" + about.table +
                             "', part " + std::to_string(about.chunk) + ": needs checkpoint " +
                             to_string(about.base) + ", which has no part that fits"};
}

status checkpoint_reader::add_part(storage& from, std::uint32_t part) {
  const auto& listed = manifest_.parts[part];
  auto contents = read_contents(from, listed.file);
  if (!contents) return contents.error();
  if (contents->title !=
          shard_file_title{.job = manifest_.job, .id = manifest_.id, .shard = listed.shard} ||
      contents->chunks.size() != chunks_of(listed))
    return {errc::corrupt, listed.file.name + ": is another file than the manifest lists"};
  auto runs = listed.chunks;
  std::sort(runs.begin(), runs.end());
  for (auto& stored : contents->chunks) {
    const auto& about = stored.about;
    const auto table = tables_.find(about.table);
    auto after = runs.begin();
    if (table != tables_.end())
      after = std::upper_bound(
          runs.begin(), runs.end(),
          chunk_run{.table = table->second, .first = about.chunk, .count = ~std::uint32_t{0}});
    if (after == runs.begin() || std::prev(after)->table != table->second ||
        about.chunk - std::prev(after)->first >= std::prev(after)->count ||
        about.shape != manifest_.tables[table->second].shape ||
        about.ranks.size() != manifest_.workers)
      return {errc::corrupt, listed.file.name + ": table '" + about.table + "': chunk " +
                                 std::to_string(about.chunk) +
                                 " is not as the manifest lists it"};
    chunks_[table->second].push_back({std::move(stored), part});
  }
  return {};
}

std::optional<std::size_t> checkpoint_reader::find_table(std::string_view name) const {
  const auto table = tables_.find(name);
  return table == tables_.end() ? std::nullopt : std::optional<std::size_t>(table->second);
}

// Parts have as many chunks as they list, each of them listed: so none is missing or double.
status checkpoint_reader::check_tables() const {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const auto& table = manifest_.tables[i];
    std::uint64_t next = 0;
    for (const auto& stored : chunks_[i]) {
      const auto& about = stored.stored.about;
      if (about.first != next)
        return {errc::corrupt, "table '" + table.name + "': no chunk has element " +
                                   std::to_string(next) + ", or two have it"};
      if (about.rows != chunks_[i].front().stored.about.rows)
        return {errc::corrupt, "table '" + table.name + "': its chunks are of two tables"};
      next += about.elements;
    }
    if (next !=
        table_spec{
            .name = table.name, .shape = table.shape, .optimizer = {}, .init = {}, .rows = {}}
            .size())
      return {errc::corrupt, "table '" + table.name + "': only " + std::to_string(next) +
                                 " elements are there"};
  }
  return {};
}

status checkpoint_reader::read_part(storage& from, std::size_t table, std::size_t part,
                                    std::size_t array, std::span<float> into) const {
  const auto& stored = chunks_[table][part];
  const auto& about = stored.stored.about;
  TIDEGATE_ASSERT(into.size() == array_floats(about, array), "a whole array");
  if (!about.needs_base() || array >= numbers_array)
    return read_stored(from, stored, array, into);
  return read_chain(from, about, array, into);
}

// From the oldest on, so that the memory is that of two whole arrays and what has changed,
// however long the chain is.
status checkpoint_reader::read_chain(storage& from, const chunk_description& about,
                                     std::size_t array, std::span<float> into) const {
  struct link {
    const checkpoint_reader* reader = nullptr;
    const chunk* stored = nullptr;
  };
  std::vector<link> chain;
  for (const auto* reader = this; reader != nullptr; reader = reader->base_.get()) {
    const auto table = reader->find_table(about.table);
    chain.push_back({reader, &reader->chunks(*table)[about.chunk]});
    if (!chain.back().stored->stored.about.needs_base()) break;
  }
  std::vector<float> values;
  std::vector<float> numbers;
  for (std::size_t i = chain.size(); i-- > 0;) {
    const auto& [reader, stored] = chain[i];
    const auto& here = stored->stored.about;
    std::vector<float> next(stored_floats(here, array));
    std::vector<float> of_next(array_floats(here, numbers_array));
    if (auto read = reader->read_stored(from, *stored, array, next); !read.ok()) return read;
    if (auto read = reader->read_stored(from, *stored, numbers_array, of_next); !read.ok())
      return read;
    if (here.needs_base()) {
      std::vector<float> merged(i == 0 ? 0 : array_floats(here, array));
      const auto whole = i == 0 ? into : std::span(merged);
      const auto done = merge_changed({of_next, next}, here.row_since, {numbers, values},
                                      row_floats(here, array), whole);
      if (!done.ok())
        return {done.code(), "checkpoint " + to_string(reader->manifest_.id) + ": table '" +
                                 about.table + "', part " + std::to_string(about.chunk) + ": " +
                                 done.message()};
      next = std::move(merged);
    }
    values = std::move(next);
    numbers = std::move(of_next);
  }
  return {};
}

status checkpoint_reader::read_stored(storage& from, const chunk& stored, std::size_t array,
                                      std::span<float> into) const {
  if (into.empty()) return {};
  return from.read(manifest_.parts[stored.part].file.name, stored.stored.offsets[array],
                   std::as_writable_bytes(into));
}

status checkpoint_reader::read(storage& from, std::size_t table, std::size_t array,
                               std::uint64_t first, std::span<float> into) const {
  const auto& chunks = chunks_[table];
  auto at = std::upper_bound(chunks.begin(), chunks.end(), first,
                             [](std::uint64_t element, const chunk& stored) {
                               return element < stored.stored.about.first;
                             });
  TIDEGATE_ASSERT(at != chunks.begin(), "the first chunk begins at 0");
  for (--at; !into.empty(); ++at) {
    TIDEGATE_ASSERT(at != chunks.end(), "the elements are in the table");
    const auto& about = at->stored.about;
    TIDEGATE_ASSERT(array < chunk_arrays(about), "the optimizer has this array");
    const auto skipped = first - about.first;
    const auto count = std::min<std::uint64_t>(into.size(), about.elements - skipped);
    auto result =
        from.read(manifest_.parts[at->part].file.name,
                  at->stored.offsets[array] + skipped * sizeof(float),
                  std::as_writable_bytes(into.first(static_cast<std::size_t>(count))));
    if (!result) return result;
    into = into.subspan(static_cast<std::size_t>(count));
    first += count;
  }
  return {};
}

}  // namespace tidegate::policies
