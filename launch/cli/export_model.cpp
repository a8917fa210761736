#include "launch/cli/export_model.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "launch/text/nearest.hpp"
#include "launch/text/text_table.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/safetensors.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using policies::checkpoint_reader;
using runtime::errc;
using runtime::fail;
using runtime::posix_storage;
using runtime::status;

runtime::expected<std::vector<std::string>> jobs_of(const std::string& run_dir) {
  const auto folder = run_dir + "/checkpoints";
  std::error_code error;
  std::vector<std::string> jobs;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) jobs.push_back(entry.path().filename().string());
  if (error)
    return fail(errc::not_found,
                run_dir + ": has no checkpoints: " + folder + ": " + error.message());
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

runtime::expected<std::string> choose_job(const export_options& options) {
  const auto jobs = jobs_of(options.run_dir);
  if (!jobs) return fail(jobs.error());
  if (options.job.empty() && jobs->size() == 1) return jobs->front();
  if (jobs->empty()) return fail(errc::not_found, options.run_dir + ": has no checkpoints");
  if (options.job.empty())
    return fail(errc::invalid_argument,
                options.run_dir + ": has checkpoints of several jobs; give --job, one of " +
                    join(*jobs));
  if (std::find(jobs->begin(), jobs->end(), options.job) == jobs->end())
    return fail(errc::not_found, options.run_dir + ": has no checkpoints of a job '" +
                                     options.job + "'; it has of " + join(*jobs));
  return options.job;
}

struct opened_job {
  std::string name;
  posix_storage folder;
};

runtime::expected<opened_job> open_job(const export_options& options) {
  const auto name = choose_job(options);
  if (!name) return fail(name.error());
  auto folder = posix_storage::open(policies::checkpoint_folder(options.run_dir, *name));
  if (!folder) return fail(folder.error());
  return opened_job{*name, std::move(*folder)};
}

runtime::expected<checkpoint_reader> newest(opened_job& job, std::ostream& problems) {
  policies::checkpoint_catalog catalog(job.folder);
  const auto ids = catalog.ids();
  if (!ids) return fail(ids.error());
  for (const auto id : *ids) {
    auto whole = catalog.verify(id);
    if (whole) return whole;
    problems << "tidegate: checkpoint " << to_string(id)
             << " cannot be used: " << whole.error().to_string() << "\n";
  }
  return fail(errc::not_found, "job '" + job.name + "' has no checkpoint that is whole");
}

bool has_rows(const checkpoint_reader& reader, std::size_t table) {
  return reader.chunks(table).front().stored.about.rows.dim > 0;
}

std::uint64_t rows_of(const checkpoint_reader& reader, std::size_t table) {
  std::uint64_t rows = 0;
  for (const auto& part : reader.chunks(table)) rows += part.stored.about.row_count;
  return rows;
}

// A table of rows is two tensors, NAME/ids and NAME/values, part by part.
policies::safetensors_header header_of(const checkpoint_reader& reader) {
  const auto& manifest = reader.manifest();
  policies::safetensors_header header;
  header.metadata = {{"format", "pt"},  // what common loaders want to see
                     {"tidegate.job", manifest.job},
                     {"tidegate.checkpoint", to_string(manifest.id)},
                     {"tidegate.clock", std::to_string(manifest.clock)},
                     {"tidegate.seed", std::to_string(manifest.seed)}};
  for (std::size_t i = 0; i < manifest.tables.size(); ++i) {
    const auto& table = manifest.tables[i];
    if (!has_rows(reader, i)) {
      header.tensors.push_back({table.name, table.shape});
      continue;
    }
    const std::uint64_t dim = reader.chunks(i).front().stored.about.rows.dim;
    const auto rows = rows_of(reader, i);
    header.tensors.push_back({.name = table.name + "/ids",
                              .shape = {rows},
                              .type = policies::safetensors_type::u64});
    header.tensors.push_back({.name = table.name + "/values", .shape = {rows, dim}});
  }
  return header;
}

// A stretch of the file behind its head: elements of a dense table, or an array of a part of a
// table of rows.
struct stretch_of_table {
  std::size_t table = 0;
  std::uint64_t first = 0;  // element, or part
  std::uint64_t floats = 0;
  std::size_t array = 0;  // of the part
  bool is_ids = false;
};

std::vector<stretch_of_table> stretches_of(const checkpoint_reader& reader) {
  constexpr std::uint64_t most = policies::file_piece_bytes_max / sizeof(float);
  std::vector<stretch_of_table> all;
  const auto& tables = reader.manifest().tables;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto size = policies::table_spec{
        .name = {},
        .shape = tables[i].shape,
        .optimizer = {},
        .init = {}}.size();
    if (!has_rows(reader, i)) {
      for (std::uint64_t first = 0; first < size; first += most)
        all.push_back({.table = i, .first = first, .floats = std::min(most, size - first)});
      continue;
    }
    constexpr std::size_t values = 0;
    constexpr std::size_t numbers = 2;
    for (const auto array : {numbers, values})
      for (std::uint64_t part = 0; part < size; ++part)
        all.push_back({.table = i,
                       .first = part,
                       .floats = array_floats(reader.chunks(i)[part].stored.about, array),
                       .array = array,
                       .is_ids = array == numbers});
  }
  return all;
}

runtime::expected<std::vector<float>> read_stretch(const checkpoint_reader& reader,
                                                   posix_storage& from,
                                                   const stretch_of_table& of) {
  std::vector<float> values(of.floats);
  const auto read = has_rows(reader, of.table)
                        ? reader.read_part(from, of.table, of.first, of.array, values)
                        : reader.read(from, of.table, 0, of.first, values);
  if (!read.ok()) return fail(read);
  if (!of.is_ids) return values;
  // Of the numbers of each row the first one.
  constexpr std::size_t floats_per_number = sizeof(std::uint64_t) / sizeof(float);
  constexpr auto floats_per_row = policies::row_numbers * floats_per_number;
  std::vector<float> ids;
  for (std::size_t row = 0; row < values.size(); row += floats_per_row)
    ids.insert(ids.end(), values.begin() + static_cast<std::ptrdiff_t>(row),
               values.begin() + static_cast<std::ptrdiff_t>(row + floats_per_number));
  return ids;
}

// The head, then each table in turn.
policies::piece_source whole_tables(std::string head, const checkpoint_reader& reader,
                                    posix_storage& from) {
  struct position {
    std::string head;
    std::vector<stretch_of_table> stretches;
    std::size_t next = 0;
    std::vector<float> values;  // of the stretch before
    std::span<const std::byte> left;
  };
  const auto at = std::make_shared<position>(position{.head = std::move(head),
                                                      .stretches = stretches_of(reader),
                                                      .next = 0,
                                                      .values = {},
                                                      .left = {}});
  auto first = policies::pieces_of(at->head, {});
  return [at, first, &reader, &from]() -> runtime::expected<std::span<const std::byte>> {
    if (auto piece = first(); !piece || !piece->empty()) return piece;
    while (at->left.empty() && at->next < at->stretches.size()) {
      auto values = read_stretch(reader, from, at->stretches[at->next++]);
      if (!values) return fail(values.error());
      at->values = std::move(*values);
      at->left = std::as_bytes(std::span(at->values));
    }
    const auto piece =
        at->left.first(std::min<std::size_t>(at->left.size(), policies::file_piece_bytes_max));
    at->left = at->left.subspan(piece.size());
    return piece;
  };
}

}  // namespace

status export_model(const export_options& options, std::ostream& out, std::ostream& problems) {
  auto job = open_job(options);
  if (!job) return job.error();
  const auto reader = newest(*job, problems);
  if (!reader) return reader.error();
  const auto& manifest = reader->manifest();
  auto head = policies::encode_safetensors(header_of(*reader));
  if (!head) return head.error();
  const fs::path path(options.output);
  auto folder = posix_storage::open(path.has_parent_path() ? path.parent_path().string() : ".");
  if (!folder) return folder.error();
  const auto file = policies::write_all(
      {path.filename().string(), whole_tables(std::move(*head), *reader, job->folder)},
      *folder);
  if (!file) return file.error();
  out << options.output << ": job " << manifest.job << ", clock " << manifest.clock << ", "
      << manifest.tables.size() << (manifest.tables.size() == 1 ? " table, " : " tables, ")
      << bytes_for_people(file->bytes) << ", sha256 " << file->sha256 << "\n";
  return {};
}

status list_checkpoints(const export_options& options, std::ostream& out) {
  auto job = open_job(options);
  if (!job) return job.error();
  policies::checkpoint_catalog catalog(job->folder);
  const auto ids = catalog.ids();
  if (!ids) return ids.error();
  std::vector<std::vector<std::string>> rows{
      {"checkpoint", "clock", "tables", "files", "size", ""}};
  for (const auto id : *ids) {
    const auto whole = catalog.verify(id);
    if (!whole) {
      rows.push_back({to_string(id), "-", "-", "-", "-", whole.error().to_string()});
      continue;
    }
    const auto& manifest = whole->manifest();
    std::uint64_t bytes = 0;
    for (const auto& part : manifest.parts) bytes += part.file.bytes;
    rows.push_back({to_string(id), std::to_string(manifest.clock),
                    std::to_string(manifest.tables.size()),
                    std::to_string(manifest.parts.size()), bytes_for_people(bytes), "whole"});
  }
  out << format_table(rows, {1, 2, 3, 4});
  return {};
}

}  // namespace tidegate::launch
