// What tables of rows may be, whether a YAML file or a worker's code asks for them. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// When rows come and go, as a program or a YAML file asks for it; what is not given has its
// default.
struct lifetime_options {
  std::optional<std::uint64_t> admit_count = std::nullopt;
  std::optional<std::uint64_t> candidates = std::nullopt;
  std::optional<std::uint64_t> unseen = std::nullopt;
  std::optional<std::uint64_t> rows = std::nullopt;
  std::optional<std::string_view> by = std::nullopt;
};
inline constexpr std::uint64_t admit_count_max = 65'535;
inline constexpr std::uint64_t unseen_clocks_max = 1ULL << 40U;

// The words of YAML files and programs.
std::string_view word_of(runtime::eviction_order order) noexcept;

// Returns true if a table that has room for so many rows can have such a lifetime.
bool is_valid(const runtime::row_lifetime& lifetime, std::uint64_t capacity) noexcept;

// Returns true if the table, of rows or dense, can be stepped by this optimizer.
bool fits_optimizer(const table_spec& table, optimizer_kind kind) noexcept;

// Puts capacity and lifetime into `into`. Errors: invalid_argument (a number or a word that is
// not allowed, or one without the other that it is for).
runtime::status set_lifetime(const lifetime_options& options,
                             std::optional<std::uint64_t> capacity, rows_spec& into);

// Checks the numbers of a table of rows, and that its job can have such tables. Errors:
// invalid_argument, unimplemented cases among them (the message says what is allowed).
runtime::status check_rows(const table_spec& table, const job_spec& job);

}  // namespace tidegate::policies
