// Names of the kernels' optimizers; part of what the peers' drivers share. Pure, any thread.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

std::string_view optimizer_name(runtime::kernels::optimizer_kind kind) noexcept;
// As in YAML.
std::optional<runtime::kernels::optimizer_kind> parse_optimizer(std::string_view name) noexcept;

}  // namespace tidegate::bench
