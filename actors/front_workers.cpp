// Who is there: workers come, go, and come back as another process.
#include <algorithm>
#include <string>
#include <utility>

#include "actors/front.hpp"
#include "actors/peer_address.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

using policies::refusal;

runtime::status front::admit(const policies::admit_worker_call& call) {
  const auto code = core_.admit_worker(call.token, call.rank, call.incarnation);
  if (code != refusal::none)
    return {runtime::errc::refused,
            "the shard refuses the worker: " + std::string(to_string(code))};
  const auto* known = find(call.token, call.rank);
  if (known && known->incarnation == call.incarnation && !known->lost)
    return {};  // an earlier call's
  auto connected =
      home_.link().connect(link_of(call.address), reach_of(home_.address(), call.address));
  if (!connected) return connected.error();
  if (known) leave(known->peer);
  auto& worker = workers_[call.token][call.rank];
  if (worker.incarnation != call.incarnation) {
    retire(call.token, std::move(worker.memory));
    worker = {};
  }
  worker.incarnation = call.incarnation;
  worker.peer = *connected;
  worker.lost = false;
  peers_[*connected] = {call.token, call.rank};
  return {};
}

void front::on_peer_lost(const peer_lost_event& event) {
  const auto lost = peers_.find(event.peer);
  if (lost == peers_.end()) return;
  log::info("lost the link to rank " + std::to_string(lost->second.rank) + ": " + event.why);
  auto* worker = find(lost->second.job, lost->second.rank);
  if (worker && worker->peer == event.peer) worker->lost = true;
  leave(event.peer);
}

// Replies that wait for this peer are not sent any more.
void front::leave(runtime::peer_id peer) {
  peers_.erase(peer);
  for (const auto token : sender_.drop(peer)) give_back(token);
}

// The pushes of an earlier process count like any, and a step may yet read them in its memory.
void front::retire(std::uint64_t job, runtime::window_map memory) {
  const auto pushes = memory_.kept_in(memory);
  if (pushes > 0) retired_.push_back({job, pushes, std::move(memory)});
}

// Of a closed job all pushes are released, but an aggregator may still be sending one.
void front::count_off(const float* gradient) {
  for (auto& one : retired_)
    if (one.memory.holds(gradient)) --one.pushes;
  std::erase_if(retired_, [&](const retired_memory& one) {
    return one.pushes == 0 && !core_.is_closed(one.job);
  });
}

}  // namespace tidegate::actors
