#include "policies/worker/mirror_gate.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

runtime::mirror_request mirror_gate::begin(std::uint64_t every, std::uint64_t clock) {
  every_ = every;
  return {.number = ++asked_, .version = clock};
}

std::optional<runtime::mirror_request> mirror_gate::committed(std::uint64_t version) {
  if (!is_used()) return {};
  const bool is_first = !std::exchange(has_committed_, true) &&
                        !is_planted(planted_bug::first_version_not_mirrored);
  if (!is_first && version % every_ != 0) return {};
  TIDEGATE_RARE("worker: pushes wait until the state is copied");
  return runtime::mirror_request{.number = ++asked_, .version = version};
}

void mirror_gate::mirrored(std::uint64_t number) {
  mirrored_ = std::min(asked_, std::max(mirrored_, number));
}

void mirror_gate::drop(std::uint32_t shard) {
  std::erase_if(held_, [&](const auto& send) { return send.shard == shard; });
}

}  // namespace tidegate::policies
