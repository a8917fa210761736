#include "launch/cli/export_model.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "launch/cli/model_reader.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/text_table.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/claim.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/safetensors.hpp"
#include "runtime/base/object_place.hpp"
#include "runtime/objects/open_storage.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using policies::checkpoint_reader;
using runtime::errc;
using runtime::fail;
using runtime::posix_storage;
using runtime::status;

// Where the checkpoints of jobs are, by job.
using job_folders = std::map<std::string, std::string>;

// A run folder has a link that leads nowhere for checkpoints in a store of objects.
std::string store_of(const fs::directory_entry& entry) {
  std::error_code error;
  if (!entry.is_symlink(error)) return {};
  auto target = fs::read_symlink(entry.path(), error).string();
  return runtime::is_object_place(target) ? target : std::string();
}

// In a run folder, or in a folder that jobs name for their checkpoints
// (jobs.*.checkpoint.path), where each has the record of a run beside them.
runtime::expected<job_folders> folders_in(const std::string& run_dir) {
  std::error_code error, of_entry;
  auto root = run_dir + "/checkpoints";
  const bool is_run = fs::exists(root, of_entry);
  if (!is_run) root = run_dir;
  job_folders found;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const auto path = entry.path().string();
    const auto job = entry.path().filename().string();
    if (auto store = store_of(entry); !store.empty())
      found[job] = std::move(store);
    else if (entry.is_directory(of_entry) &&
             (is_run || fs::is_directory(policies::claim_folder(path), of_entry)))
      found[job] = path;
  }
  if (error || (!is_run && found.empty()))
    return fail(errc::not_found, run_dir + ": has no checkpoints: it is no run folder with " +
                                     "checkpoints/, and no folder of jobs.*.checkpoint.path");
  return found;
}

runtime::expected<std::string> choose_job(const export_options& options,
                                          const job_folders& folders) {
  std::vector<std::string> jobs;
  for (const auto& [job, path] : folders) jobs.push_back(job);
  if (options.job.empty() && jobs.size() == 1) return jobs.front();
  if (jobs.empty()) return fail(errc::not_found, options.run_dir + ": has no checkpoints");
  if (options.job.empty())
    return fail(errc::invalid_argument,
                options.run_dir + ": has checkpoints of several jobs; give --job, one of " +
                    join(jobs));
  if (!folders.contains(options.job))
    return fail(errc::not_found, options.run_dir + ": has no checkpoints of a job '" +
                                     options.job + "'; it has of " + join(jobs));
  return options.job;
}

struct opened_job {
  std::string name;
  runtime::storage_pointer folder;
};

// s3://BUCKET/PREFIX with --job, or with the job behind it.
runtime::expected<job_folders> place_in_store(const export_options& options) {
  auto path = options.run_dir;
  while (path.ends_with('/')) path.pop_back();
  if (!options.job.empty()) return job_folders{{options.job, path + "/" + options.job}};
  return job_folders{{path.substr(path.rfind('/') + 1), path}};
}

runtime::expected<opened_job> open_job(const export_options& options) {
  const auto folders = runtime::is_object_place(options.run_dir) ? place_in_store(options)
                                                                 : folders_in(options.run_dir);
  if (!folders) return fail(folders.error());
  const auto name = choose_job(options, *folders);
  if (!name) return fail(name.error());
  auto folder = runtime::open_storage(folders->at(*name));
  if (!folder) return fail(folder.error());
  return opened_job{*name, std::move(*folder)};
}

runtime::expected<checkpoint_reader> newest(opened_job& job, std::ostream& problems) {
  policies::checkpoint_catalog catalog(*job.folder);
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

// What is wrong with a checkpoint that was asked for is an error, whatever others there are.
runtime::expected<checkpoint_reader> that_of(opened_job& job, const std::string& wanted) {
  const auto id = policies::parse_checkpoint_id(wanted);
  if (!id)
    return fail(errc::invalid_argument, "--checkpoint '" + printable(wanted) +
                                            "'; allowed: a name as e0001-00000017, which "
                                            "`tidegate export RUN_DIR --list` shows");
  policies::checkpoint_catalog catalog(*job.folder);
  const auto ids = catalog.ids();
  if (!ids) return fail(ids.error());
  if (std::find(ids->begin(), ids->end(), *id) == ids->end()) {
    std::vector<std::string> there;
    for (const auto each : *ids) there.push_back(to_string(each));
    return fail(errc::not_found, "job '" + job.name + "' has no checkpoint " + wanted +
                                     (there.empty() ? "" : "; there are " + join(there)));
  }
  auto whole = catalog.verify(*id);
  if (!whole)
    return fail(whole.error().code(), "checkpoint " + wanted + " of job '" + job.name +
                                          "' cannot be used: " + whole.error().message());
  return whole;
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
  const auto reader =
      options.checkpoint.empty() ? newest(*job, problems) : that_of(*job, options.checkpoint);
  if (!reader) return reader.error();
  const auto& manifest = reader->manifest();
  if (options.since && manifest.consistency.kind == policies::consistency_kind::async)
    return {errc::invalid_argument,
            "--since CLOCK: under async, where workers do not wait for each other, rows do not "
            "say in which clock they have changed; allowed: jobs under bsp or ssp"};
  model_reader model(*reader, *job->folder, options.since);
  if (auto counted = model.count(); !counted.ok()) return counted;
  auto head = policies::encode_safetensors(model.header());
  if (!head) return head.error();
  const fs::path path(options.output);
  auto folder = posix_storage::open(path.has_parent_path() ? path.parent_path().string() : ".");
  if (!folder) return folder.error();
  const auto file = policies::write_all(
      {path.filename().string(), whole_model(std::move(*head), model)}, *folder);
  if (!file) return file.error();
  out << options.output << ": job " << manifest.job << ", checkpoint " << to_string(manifest.id)
      << ", clock " << manifest.clock << ", " << manifest.tables.size()
      << (manifest.tables.size() == 1 ? " table, " : " tables, ")
      << bytes_for_people(file->bytes) << ", SHA-256 of the file " << file->sha256 << "\n";
  return {};
}

status list_checkpoints(const export_options& options, std::ostream& out) {
  auto job = open_job(options);
  if (!job) return job.error();
  policies::checkpoint_catalog catalog(*job->folder);
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
