#include "actors/shard/shard_checkpoints.hpp"

#include <utility>

namespace tidegate::actors {

using runtime::status;

status shard_checkpoints::restore(const policies::open_table_call& call,
                                  std::span<const policies::owned_chunk> chunks) {
  auto& job = jobs_.at(call.token);
  return job.restores.read_table(
      call.restore, call.name, [&] { return port_.open_folder(job.name); },
      [&](const policies::checkpoint_reader& from, std::size_t table,
          runtime::storage& folder) {
        return memory_.restore(from, table, folder, chunks, shard_);
      });
}

void shard_checkpoints::workers_come(std::uint64_t token) {
  if (const auto job = jobs_.find(token); job != jobs_.end()) job->second.restores.release();
}

bool shard_checkpoints::begin(const policies::checkpoint_call& call, std::size_t chunks) {
  auto& job = jobs_.at(call.token);
  return job.part.begin({.job = job.name, .id = call.id, .shard = index_}, call.token, chunks);
}

void shard_checkpoints::snapshot(const effects::snapshot& step,
                                 const policies::shard_core::cut_state& state) {
  auto image = memory_.image_of(step.slot, step.version_buffer);
  image.about.version = state.version;
  image.about.ranks = state.ranks;
  const auto count = policies::chunk_arrays(image.about);
  for (auto& [token, job] : jobs_) {
    if (!job.part.is_open() || !shard_.registry().has_table(token, image.table)) continue;
    if (job.part.add(image.table, std::move(image.about), std::span(image.arrays).first(count)))
      write_part(token);
    return;
  }
}

void shard_checkpoints::write_part(std::uint64_t token) {
  auto& job = jobs_.at(token);
  auto file = job.part.write();
  if (!file) return part_written(token, {}, file.error().to_string());
  port_.write_part(token, job.name, std::move(*file));
}

void shard_checkpoints::part_written(std::uint64_t token, const policies::written_file& file,
                                     const std::string& failure) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end()) return;
  job->second.part.ended();
  auto report = job->second.part.report();
  report.failure = failure;
  report.file = file;
  if (!failure.empty())
    home_.log(severity::warning, "checkpoint " + to_string(report.id) + ": " + failure);
  port_.report(report);
}

}  // namespace tidegate::actors
