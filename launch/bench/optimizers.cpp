#include "launch/bench/optimizers.hpp"

#include <utility>

namespace tidegate::bench {

namespace {

using runtime::kernels::optimizer_kind;

constexpr std::pair<optimizer_kind, std::string_view> names[] = {
    {optimizer_kind::sgd, "sgd"},           {optimizer_kind::momentum, "momentum"},
    {optimizer_kind::nesterov, "nesterov"}, {optimizer_kind::adagrad, "adagrad"},
    {optimizer_kind::adam, "adam"},         {optimizer_kind::adamw, "adamw"}};

}  // namespace

std::string_view optimizer_name(optimizer_kind kind) noexcept {
  for (const auto& [known, name] : names)
    if (known == kind) return name;
  return "?";
}

std::optional<optimizer_kind> parse_optimizer(std::string_view name) noexcept {
  for (const auto& [kind, known] : names)
    if (known == name) return kind;
  return std::nullopt;
}

}  // namespace tidegate::bench
