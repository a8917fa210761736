#include "actors/shard/shard_checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

runtime::expected<shard_memory::chunk_progress> shard_checkpoints::restore(
    const policies::open_table_call& call, const policies::owned_chunk& chunk) {
  auto& job = jobs_.at(call.token);
  const auto found = job.restores.find_table(call.restore, call.name,
                                             [&] { return port_.open_folder(job.name); });
  if (!found) return runtime::fail(found.error());
  return memory_.restore(found->from, found->table, found->folder, chunk);
}

void shard_checkpoints::workers_come(std::uint64_t token) {
  if (const auto job = jobs_.find(token); job != jobs_.end()) job->second.restores.release();
}

void shard_checkpoints::close_job(std::uint64_t token) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end()) return;
  job->second.whole_after = 0;
  job->second.is_closed = true;
  job->second.cuts.clear();
  job->second.part.retire();
}

bool shard_checkpoints::begin(const policies::checkpoint_call& call, std::size_t chunks) {
  auto& job = jobs_.at(call.token);
  if (job.whole_after != 0 || job.is_closed) return false;
  if (!job.part.begin({.job = job.name, .id = call.id, .shard = index_}, call.token, chunks))
    return false;
  job.taken = call.id;
  job.base = call.base;
  return true;
}

// Of a part of a table of rows only what has changed is written where this process has written
// the part of the checkpoint that the call names: another one may have made other steps. A push
// is noted with the latest clock of the part, so what is pushed after a cut has no earlier one.
void shard_checkpoints::describe_change(std::uint32_t slot, job_files& job,
                                        policies::chunk_description& about) {
  const auto before = job.cuts.find(slot);
  const bool any_base =
      runtime::is_planted(runtime::planted_bug::checkpoint_delta_to_another_base);
  if (job.base.number > 0 && before != job.cuts.end() &&
      (before->second.id == job.base || any_base)) {
    about.base = job.base;
    about.row_since = before->second.clock;
    if (runtime::is_planted(runtime::planted_bug::checkpoint_delta_from_too_late))
      about.row_since += 2;
    about.changed_count = memory_.rows_since(slot, about.row_since);
  }
  job.cuts[slot] = {.id = job.taken, .clock = about.row_clock};
}

void shard_checkpoints::snapshot(const effects::snapshot& step,
                                 const policies::shard_core::cut_state& state) {
  using kind = shard_memory::array_name::kind;
  constexpr kind kinds[] = {kind::parameters, kind::state1, kind::state2};
  auto chunk = memory_.describe(step.slot);
  chunk.about.version = state.version;
  chunk.about.ranks = state.ranks;
  const auto count = policies::chunk_arrays(chunk.about);
  for (auto& [token, job] : jobs_) {
    if (!job.part.is_open() || !shard_.registry().has_table(token, chunk.table)) continue;
    const bool has_rows = chunk.about.rows.dim > 0;
    if (has_rows) describe_change(step.slot, job, chunk.about);
    const auto& into =
        job.part.add(chunk.table, chunk.about, memory_.memory_of_copies(step.slot));
    for (std::size_t i = 0; i < count; ++i)
      if (has_rows)
        memory_.copy_rows(step.slot, chunk.about, i, *into[i], into[i]);
      else
        memory_.copy_out({.slot = step.slot,
                          .of = kinds[i],
                          .version_buffer = i == 0 ? step.version_buffer : 0},
                         *into[i], into[i]);
    if (!job.part.is_open()) part_full(token, job);
    return;
  }
}

void shard_checkpoints::part_full(std::uint64_t token, job_files& job) {
  const auto& work = memory_.ingress().work();
  if (work.is_idle() ||
      runtime::is_planted(runtime::planted_bug::part_written_before_it_is_there))
    return write_part(token);
  job.whole_after = work.begun();
}

void shard_checkpoints::work_ended() {
  const auto ended = memory_.ingress().work().ended();
  for (auto& [token, job] : jobs_) {
    if (job.whole_after == 0 || job.whole_after > ended) continue;
    job.whole_after = 0;
    write_part(token);
  }
}

void shard_checkpoints::write_part(std::uint64_t token) {
  auto& job = jobs_.at(token);
  job.writes_since = home_.now();
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
  report.took_ns = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, home_.now() - job->second.writes_since));
  if (!failure.empty())
    home_.log(severity::warning, "checkpoint " + to_string(report.id) + ": " + failure);
  port_.report(report);
  if (job->second.is_closed) job->second.part.retire();
}

}  // namespace tidegate::actors
