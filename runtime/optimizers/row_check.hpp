// Whether an optimizer steps rows, and its options are ones that a step can be made with. Pure,
// any thread.
#pragma once

#include "runtime/base/status.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime {

// Errors: invalid_argument (an optimizer that does not step rows; an option that is no number,
// or out of its range).
status check_row_optimizer(const optimizer_options& options);

}  // namespace tidegate::runtime
