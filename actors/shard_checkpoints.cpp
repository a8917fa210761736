// What the shard actor does for checkpoints.
#include "actors/errors.hpp"
#include "actors/shard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::actors {

namespace log = runtime::log;
using runtime::errc;
using runtime::status;

status shard::restore(const policies::open_table_call& call, job_home& job,
                      std::span<const policies::owned_chunk> chunks) {
  const auto open = [&]() -> runtime::expected<policies::restore_source::folder> {
    auto folder =
        runtime::posix_storage::open(policies::checkpoint_folder(keeping_.run_dir, job.name));
    if (!folder) return runtime::fail(folder.error());
    return std::make_unique<runtime::posix_storage>(std::move(*folder));
  };
  return job.restores.read_table(call.restore, call.name, open,
                                 [&](const policies::checkpoint_reader& from, std::size_t table,
                                     runtime::storage& folder) {
                                   return store_->restore(from, table, folder, chunks, core_);
                                 });
}

caf::result<std::uint64_t> shard::checkpoint(const policies::checkpoint_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return to_error({errc::not_found, "this shard does not know the job"});
  auto& part = job->second.part;
  std::size_t chunks = 0;
  for (const auto table : call.tables) chunks += core_.slots_of(table).size();
  std::uint64_t gone_by = 0;
  bool begun = false;
  // What waits may end the part before, which then is written first.
  front_->core().about_job(call.token, [&](auto& out) {
    begun = part.begin({job->second.name, call.id, index_}, call.token, chunks);
    if (begun) gone_by = core_.cut(call.token, call.clock, call.tables, out);
  });
  if (!begun)
    return to_error({errc::unavailable, "this shard still writes the last checkpoint"});
  return gone_by;
}

void shard::snapshot(const front::effects::snapshot& what,
                     const policies::shard_core::cut_state& state) {
  auto image = store_->image_of(what.slot, what.plane);
  image.about.version = state.version;
  image.about.ranks = state.ranks;
  const auto count = policies::chunk_arrays(image.about);
  for (auto& [token, job] : jobs_) {
    if (!job.part.is_open() || !core_.has_table(token, image.table)) continue;
    if (job.part.add(image.table, std::move(image.about), std::span(image.arrays).first(count)))
      write_part(token);
    return;
  }
}

void shard::write_part(std::uint64_t token) {
  auto& job = jobs_.at(token);
  auto file = job.part.write();
  const auto tell = [token, self = caf::actor_cast<shard_actor>(this)](
                        runtime::expected<policies::written_file> written) {
    part_written_event event;
    event.job = token;
    if (written)
      event.file = *written;
    else
      event.failure = written.error().to_string();
    caf::anon_send(self, std::move(event));
  };
  if (!file) return tell(runtime::fail(file.error()));
  job.writer.start(policies::checkpoint_folder(keeping_.run_dir, job.name), std::move(*file),
                   tell);
}

void shard::part_written(const part_written_event& event) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  job->second.part.ended();
  auto report = job->second.part.report();
  report.failure = event.failure;
  report.file = event.file;
  if (!event.failure.empty())
    log::warn("checkpoint " + to_string(report.id) + ": " + event.failure);
  if (keeping_.coordinator)
    send(keeping_.coordinator->now(), part_atom::value, keeping_.token, std::move(report));
}

}  // namespace tidegate::actors
