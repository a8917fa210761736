// Orders and reports of surveys as JSON values, for the frames of agents. Pure, any thread.
#pragma once

#include "launch/agents/frame_fields.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

json survey_json(const policies::agent_orders::survey& order);
json survey_json(const policies::agent_reports::surveyed& report);
// What those wrote. Others are exceptions: bad_field, and those of the library.
policies::agent_orders::survey survey_of(const json& from);
policies::agent_reports::surveyed surveyed_of(const json& from);

}  // namespace tidegate::launch
