// From the optimizer that a worker names to the plain spec that travels. Pure, any thread.
#pragma once

#include <string_view>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/session.hpp>

namespace tidegate::actors {

// What `wanted` asks for, checked as policies::checked_optimizer says, errors included; without
// a name a default spec. `table` is for the message.
runtime::expected<policies::optimizer_spec> to_spec(const optimizer& wanted,
                                                    std::string_view table);

}  // namespace tidegate::actors
