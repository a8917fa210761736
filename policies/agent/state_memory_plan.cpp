#include "policies/agent/state_memory_plan.hpp"

#include "runtime/base/planted.hpp"

namespace tidegate::policies {

// No push of a worker leaves before its memory is copied for the first time. So in the first
// epoch a worker that comes without a copy has kept nothing, although it was on another host.
state_memory_plan plan_state_memory(const agent_orders::start& start, bool has_memory,
                                    bool is_mirrored) {
  constexpr std::uint32_t first_epoch = 1;
  const bool stays_of_use =
      !start.moved || runtime::is_planted(runtime::planted_bug::state_of_an_earlier_stay);
  state_memory_plan plan;
  plan.is_new = !has_memory || start.joins || !stays_of_use;
  const bool is_first =
      start.process.incarnation == 1 || (start.moved && is_mirrored && start.state.empty());
  plan.has_history = start.joins || (start.epoch == first_epoch && is_first);
  return plan;
}

}  // namespace tidegate::policies
