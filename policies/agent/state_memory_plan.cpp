#include "policies/agent/state_memory_plan.hpp"

#include "runtime/base/planted.hpp"

namespace tidegate::policies {

state_memory_plan plan_state_memory(const agent_orders::start& start, bool has_memory) {
  const bool is_of_use =
      !start.moved || runtime::is_planted(runtime::planted_bug::state_of_an_earlier_stay);
  return {.is_new = !has_memory || start.joins || !is_of_use,
          .has_history = start.has_no_past()};
}

}  // namespace tidegate::policies
