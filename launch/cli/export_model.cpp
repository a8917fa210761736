#include "launch/cli/export_model.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "launch/cli/model_reader.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/text_table.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/claim.hpp"
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

// Where the folders of jobs are: in a run folder, or in a folder that jobs name for their
// checkpoints (jobs.*.checkpoint.path), where each has the record of a run beside them.
struct job_folders {
  std::string root;
  std::vector<std::string> jobs;
};

runtime::expected<job_folders> folders_in(const std::string& run_dir) {
  std::error_code error, of_entry;
  job_folders found{.root = run_dir + "/checkpoints", .jobs = {}};
  const bool is_run = fs::exists(found.root, of_entry);
  if (!is_run) found.root = run_dir;
  for (const auto& entry : fs::directory_iterator(found.root, error)) {
    const auto path = entry.path().string();
    if (entry.is_directory(of_entry) &&
        (is_run || fs::is_directory(policies::claim_folder(path), of_entry)))
      found.jobs.push_back(entry.path().filename().string());
  }
  if (error || (!is_run && found.jobs.empty()))
    return fail(errc::not_found, run_dir + ": has no checkpoints: it is no run folder with " +
                                     "checkpoints/, and no folder of jobs.*.checkpoint.path");
  std::sort(found.jobs.begin(), found.jobs.end());
  return found;
}

runtime::expected<std::string> choose_job(const export_options& options,
                                          const std::vector<std::string>& jobs) {
  if (options.job.empty() && jobs.size() == 1) return jobs.front();
  if (jobs.empty()) return fail(errc::not_found, options.run_dir + ": has no checkpoints");
  if (options.job.empty())
    return fail(errc::invalid_argument,
                options.run_dir + ": has checkpoints of several jobs; give --job, one of " +
                    join(jobs));
  if (std::find(jobs.begin(), jobs.end(), options.job) == jobs.end())
    return fail(errc::not_found, options.run_dir + ": has no checkpoints of a job '" +
                                     options.job + "'; it has of " + join(jobs));
  return options.job;
}

struct opened_job {
  std::string name;
  posix_storage folder;
};

runtime::expected<opened_job> open_job(const export_options& options) {
  const auto folders = folders_in(options.run_dir);
  if (!folders) return fail(folders.error());
  const auto name = choose_job(options, folders->jobs);
  if (!name) return fail(name.error());
  auto folder = posix_storage::open(folders->root + "/" + *name);
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

// The head, then each table in turn.
policies::piece_source whole_model(std::string head, const model_reader& model) {
  struct position {
    std::string head;
    std::size_t next = 0;       // of the stretches
    std::vector<float> values;  // of the stretch before
    std::span<const std::byte> left;
  };
  const auto at = std::make_shared<position>(
      position{.head = std::move(head), .next = 0, .values = {}, .left = {}});
  auto first = policies::pieces_of(at->head, {});
  return [at, first, &model]() -> runtime::expected<std::span<const std::byte>> {
    if (auto piece = first(); !piece || !piece->empty()) return piece;
    while (at->left.empty() && at->next < model.stretches().size()) {
      auto values = model.read(model.stretches()[at->next++]);
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
  if (options.since && manifest.consistency.kind == policies::consistency_kind::async)
    return {errc::invalid_argument,
            "--since CLOCK: under async, where workers do not wait for each other, rows do not "
            "say in which clock they have changed; allowed: jobs under bsp or ssp"};
  model_reader model(*reader, job->folder, options.since);
  if (auto counted = model.count(); !counted.ok()) return counted;
  auto head = policies::encode_safetensors(model.header());
  if (!head) return head.error();
  const fs::path path(options.output);
  auto folder = posix_storage::open(path.has_parent_path() ? path.parent_path().string() : ".");
  if (!folder) return folder.error();
  const auto file = policies::write_all(
      {path.filename().string(), whole_model(std::move(*head), model)}, *folder);
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
      {"checkpoint", "clock", "tables", "files", "size", "needs", ""}};
  policies::checkpoint_catalog::hashed_files hashed;
  for (const auto id : *ids) {
    const auto whole = catalog.verify(id, hashed);
    if (!whole) {
      rows.push_back({to_string(id), "-", "-", "-", "-", "-", whole.error().to_string()});
      continue;
    }
    const auto& manifest = whole->manifest();
    std::uint64_t bytes = 0;
    for (const auto& part : manifest.parts) bytes += part.file.bytes;
    rows.push_back({to_string(id), std::to_string(manifest.clock),
                    std::to_string(manifest.tables.size()),
                    std::to_string(manifest.parts.size()), bytes_for_people(bytes),
                    manifest.base.number == 0 ? "-" : to_string(manifest.base), "whole"});
  }
  out << format_table(rows, {1, 2, 3, 4});
  return {};
}

}  // namespace tidegate::launch
