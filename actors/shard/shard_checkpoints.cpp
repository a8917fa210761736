// shard_shell: checkpoints.
#include "actors/shard/shard_shell.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

status shard_shell::restore(const policies::open_table_call& call, job_home& job,
                            std::span<const policies::owned_chunk> chunks) {
  return job.restores.read_table(
      call.restore, call.name, [&] { return port_.open_folder(job.name); },
      [&](const policies::checkpoint_reader& from, std::size_t table,
          runtime::storage& folder) {
        return memory_.restore(from, table, folder, chunks, core_);
      });
}

runtime::expected<std::uint64_t> shard_shell::checkpoint(
    const policies::checkpoint_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return runtime::fail(errc::not_found, "this shard does not know the job");
  auto& part = job->second.part;
  std::size_t chunks = 0;
  for (const auto table : call.tables) chunks += core_.registry().slots_of(table).size();
  std::uint64_t gone_by = 0;
  bool begun = false;
  // Steps that wait may end the part before, which then is written first.
  ingress_.core().about_job(call.token, [&](auto& out) {
    begun = part.begin({job->second.name, call.id, index_}, call.token, chunks);
    if (begun) gone_by = core_.snapshots().cut(call.token, call.clock, call.tables, out);
  });
  if (!begun)
    return runtime::fail(errc::unavailable, "this shard still writes the last checkpoint");
  return gone_by;
}

void shard_shell::snapshot(const effects::snapshot& step,
                           const policies::shard_core::cut_state& state) {
  auto image = memory_.image_of(step.slot, step.plane);
  image.about.version = state.version;
  image.about.ranks = state.ranks;
  const auto count = policies::chunk_arrays(image.about);
  for (auto& [token, job] : jobs_) {
    if (!job.part.is_open() || !core_.registry().has_table(token, image.table)) continue;
    if (job.part.add(image.table, std::move(image.about), std::span(image.arrays).first(count)))
      write_part(token);
    return;
  }
}

void shard_shell::write_part(std::uint64_t token) {
  auto& job = jobs_.at(token);
  auto file = job.part.write();
  if (!file) return part_written(token, {}, file.error().to_string());
  port_.write_part(token, job.name, std::move(*file));
}

void shard_shell::part_written(std::uint64_t token, const policies::written_file& file,
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
