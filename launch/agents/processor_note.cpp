#include "launch/agents/processor_note.hpp"

namespace tidegate::launch {

std::optional<policies::agent_reports::noted> processor_note(const agent_config& config,
                                                             const std::string& own) {
  if (own == config.instructions) return std::nullopt;
  return policies::agent_reports::noted{
      .subject = "processor_differs",
      .detail = "host " + config.host + " has " + own + ", the launcher's " +
                config.instructions +
                ": what Tidegate computes has the same bits on both, what programs compute may "
                "not",
      .is_warning = true};
}

}  // namespace tidegate::launch
