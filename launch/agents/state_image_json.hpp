// The state of a worker in the frames of agents and launchers. Pure, any thread.
#pragma once

#include "launch/agents/frame_fields.hpp"
#include "policies/model/state_image.hpp"

namespace tidegate::launch {

json image_json(const policies::state_image& image);
// Throws what nlohmann::json and frame_fields.hpp throw where that is no image.
policies::state_image image_of(const json& from);

}  // namespace tidegate::launch
