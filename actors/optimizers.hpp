// Optimizers as they go through the actors: from what a worker names to the plain spec that
// travels, and from the spec to what the kernels run. Pure functions, any thread.
#pragma once

#include <string_view>

#include "actors/client.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

// What `wanted` asks for; an empty name keeps the kind of a default spec. `table` is for the
// message. Errors: invalid_argument (no such optimizer).
runtime::expected<policies::optimizer_spec> to_spec(const optimizer& wanted,
                                                    std::string_view table);

runtime::kernels::optimizer to_kernel(const policies::optimizer_spec& spec) noexcept;

}  // namespace tidegate::actors
