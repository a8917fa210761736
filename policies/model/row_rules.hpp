// What tables of rows may be, whether a YAML file or a worker's code asks for them. Pure, any
// thread.
#pragma once

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Returns true if rows are stepped by this optimizer.
bool steps_rows(optimizer_kind kind) noexcept;

// Checks the numbers of a table of rows, and that its job can have such tables. Errors:
// invalid_argument, unimplemented cases among them (the message says what is allowed).
runtime::status check_rows(const table_spec& table, const job_spec& job);

}  // namespace tidegate::policies
