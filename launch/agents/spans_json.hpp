// What a process has noted of what it did, as JSON of the frames of agents: the spans travel as
// they are in memory. Agents and launcher are of one version, on processors of one kind of byte
// order. Pure, any thread.
#pragma once

#include "launch/agents/frame_fields.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

json spans_json(const policies::agent_reports::spans& report);
// Throws as frame_fields.hpp has it.
policies::agent_reports::spans spans_of(const json& from);

}  // namespace tidegate::launch
