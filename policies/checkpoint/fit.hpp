// Whether a job can go on from a checkpoint. Pure, any thread.
#pragma once

#include "policies/checkpoint/reader.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Errors: invalid_argument (it is of a job with room for another number of workers, with
// another policy, or with rows that follow from another seed).
runtime::status check_fit(const checkpoint_reader& from, const job_spec& job);

}  // namespace tidegate::policies
