// What an agent does before it says hello: it copies the files that its host lacks from the
// launcher (file_server.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "launch/agents/agent_config.hpp"
#include "launch/agents/agent_door.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct staging_outcome {
  std::size_t files = 0;  // that were copied
  std::uint64_t bytes = 0;
};

// Blocks until all files of config.staged are here, or `input` has ended: whoever has started
// the agent is gone then; or `signals` is readable: the agent is to end. Errors: unavailable
// (no launcher, or nothing comes from it for options.unreachable_ms), io_error (a file cannot
// be written), corrupt (a file has changed since it was listed), cancelled.
runtime::expected<staging_outcome> stage_here(const agent_config& config,
                                              const agent_links& links,
                                              const agent_link_options& options, int input,
                                              int signals);

}  // namespace tidegate::launch
