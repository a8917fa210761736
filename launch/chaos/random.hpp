// `tidegate chaos RUN_DIR random`: again and again (policies/supervision/chaos_core). Main
// thread only.
#pragma once

#include "launch/chaos/members.hpp"
#include "policies/model/fault_spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// Until the plan or the run ends, or Ctrl-C; then all that was done is undone. Errors:
// not_found (nobody of the run lives, or no host can be cut off), io_error, and those of what
// was to be done.
runtime::status carry_out_random(const members& run, policies::chaos_plan plan);

}  // namespace tidegate::chaos
