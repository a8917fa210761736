// What the launcher is told of a host whose processor is another than its own. Pure, any
// thread.
#pragma once

#include <optional>
#include <string>

#include "launch/agents/agent_config.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

// `own`: the vector instructions of the host (runtime/base/processor.hpp). Returns nothing
// where they are the launcher's.
std::optional<policies::agent_reports::noted> processor_note(const agent_config& config,
                                                             const std::string& own);

}  // namespace tidegate::launch
