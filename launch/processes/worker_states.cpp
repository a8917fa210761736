#include "launch/processes/worker_states.hpp"

#include <utility>

#include "policies/agent/state_memory_plan.hpp"
#include "policies/model/state_layout.hpp"
#include "policies/worker/state_versions.hpp"

namespace tidegate::launch {

using runtime::state_file;

namespace {

policies::state_versions versions_in(state_file& file) {
  return {file, policies::state_version_bytes(file.bytes().size())};
}

}  // namespace

runtime::expected<state_descriptors> worker_states::prepare(
    const policies::agent_orders::start& start, std::uint64_t token) {
  const auto& name = start.name;
  const auto process = start.process.process;
  if (name.role != policies::process_role::worker) return state_descriptors{};
  const auto* job = spec_.find_job(name.job);
  if (job == nullptr || job->state_bytes_max() == 0) return state_descriptors{};
  const auto plan = policies::plan_state_memory(start, memories_.contains(process));
  auto& memory = memories_[process];
  if (plan.is_new) {
    auto file = make(start, *job, plan.has_history, token);
    if (!file) {
      memories_.erase(process);
      return runtime::fail(file.error());
    }
    memory.file = std::move(*file);
  }
  memory.incarnation = start.process.incarnation;
  if (!is_mirrored(*job)) return state_descriptors{.file = memory.file->fd()};
  auto line = runtime::mirror_channel::make();
  if (!line) return runtime::fail(line.error());
  memory.line = std::move(line->first);
  memory.workers_end = std::move(line->second);
  return state_descriptors{.file = memory.file->fd(),
                           .mirror = memory.workers_end.get(),
                           .mirror_every = job->state_mirror_every};
}

runtime::expected<std::unique_ptr<state_file>> worker_states::make(
    const policies::agent_orders::start& start, const policies::job_spec& job, bool has_history,
    std::uint64_t token) const {
  auto file = state_file::make(token, policies::state_memory_bytes(job.state_bytes_max()));
  if (!file) return runtime::fail(file.error());
  if (has_history)
    if (auto put = file->put(policies::state_history_offset, 1); !put.ok())
      return runtime::fail(std::move(put));
  auto memory = std::make_unique<state_file>(std::move(*file));
  if (!is_mirrored(job)) return memory;
  if (auto mapped = memory->map(); !mapped.ok()) return runtime::fail(std::move(mapped));
  if (start.state)
    if (auto restored = versions_in(*memory).restore(*start.state); !restored.ok())
      return runtime::fail(std::move(restored));
  return memory;
}

void worker_states::started(policies::process_number process) {
  if (const auto at = memories_.find(process); at != memories_.end())
    at->second.workers_end.reset();
}

void worker_states::ended(policies::process_number process) {
  if (const auto at = memories_.find(process); at != memories_.end()) at->second.line.reset();
}

void worker_states::read(std::vector<policies::agent_report>& into) {
  for (auto& [process, memory] : memories_) {
    if (!memory.line) continue;
    // One in each turn; others make the descriptor readable.
    if (const auto request = memory.line->read())
      into.emplace_back(policies::agent_reports::state{
          .process = {process, memory.incarnation},
          .number = request->number,
          .image = versions_in(*memory.file).image(request->version)});
    if (!memory.line->is_open()) memory.line.reset();
  }
}

void worker_states::mirrored(const policies::launched_process& process, std::uint64_t number) {
  const auto at = memories_.find(process.process);
  if (at != memories_.end() && at->second.incarnation == process.incarnation && at->second.line)
    at->second.line->answer(number);
}

void worker_states::add_to(std::vector<pollfd>& fds) const {
  for (const auto& [process, memory] : memories_)
    if (memory.line) fds.push_back({.fd = memory.line->fd(), .events = POLLIN, .revents = 0});
}

}  // namespace tidegate::launch
