// Optimizers as numbers of a journal, floats as their bits: 0.1 must come back as it was. Pure,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "policies/checkpoint/json_text.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

inline constexpr std::size_t rule_numbers = sizeof(runtime::rule_name) / sizeof(std::uint32_t);
inline constexpr std::size_t optimizer_numbers = 19 + 2 * rule_numbers;
std::vector<std::uint64_t> numbers_of(const optimizer_spec& spec);  // so many
// Sets `problem`, unless it is set: corrupt (numbers of nothing that is known).
optimizer_spec optimizer_of(std::span<const std::uint64_t> numbers, runtime::status& problem);

nlohmann::json encode_optimizer(const optimizer_spec& spec);

// Reads the array "optimizer" of a record, also as earlier versions wrote it. As
// optimizer_of().
optimizer_spec decode_optimizer(json_fields& fields, runtime::status& problem);

}  // namespace tidegate::policies
