// One job of a cluster file, from its map to a job_spec. Pure, any thread.
#pragma once

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// Notes everything that is wrong; the result is of use only when nothing was.
policies::job_spec read_job(const section& from, const std::string& name);

}  // namespace tidegate::launch
