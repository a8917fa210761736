#include "launch/processes/worker_states.hpp"

#include <utility>

#include "policies/model/state_layout.hpp"

namespace tidegate::launch {

runtime::expected<int> worker_states::prepare(const policies::agent_orders::start& start,
                                              std::uint64_t token) {
  const auto& name = start.name;
  const auto process = start.process.process;
  if (name.role != policies::process_role::worker) return -1;
  const auto* job = spec_.find_job(name.job);
  const auto most = job == nullptr ? 0 : job->state_bytes_max();
  if (most == 0) return -1;
  if (start.joins || start.moved) files_.erase(process);
  const auto at = files_.find(process);
  if (at != files_.end()) return at->second.fd();
  auto file = runtime::state_file::make(token, policies::state_memory_bytes(most));
  if (!file) return runtime::fail(file.error());
  // Later it may be the state of an earlier launcher's time, or of another host, that is not
  // there.
  if (start.joins || (start.epoch == 1 && start.process.incarnation == 1))
    if (auto put = file->put(policies::state_history_offset, 1); !put.ok())
      return runtime::fail(std::move(put));
  return files_.emplace(process, std::move(*file)).first->second.fd();
}

}  // namespace tidegate::launch
