// What tables of rows may be, whether a YAML file or a worker's code asks for them. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// The words of YAML files and programs.
inline constexpr std::pair<std::string_view, runtime::eviction_order> eviction_words[] = {
    {"lru", runtime::eviction_order::lru},
    {"lfu", runtime::eviction_order::lfu},
    {"l2", runtime::eviction_order::l2}};

// Errors: invalid_argument (no word for such an order; the message says those that there are).
runtime::expected<runtime::eviction_order> eviction_order_of(std::string_view word);

// When rows come and go, as a program or a YAML file asks for it; what is not given has its
// default.
struct lifetime_options {
  std::optional<std::uint64_t> admit_count = std::nullopt;
  std::optional<std::uint64_t> candidates = std::nullopt;
  std::optional<std::uint64_t> unseen = std::nullopt;
  std::optional<std::uint64_t> rows = std::nullopt;
  std::optional<runtime::eviction_order> by = std::nullopt;
};
inline constexpr std::uint64_t admit_count_max = 65'535;
inline constexpr std::uint64_t unseen_clocks_max = 1ULL << 40U;

// Returns true if a table that has room for so many rows can have such a lifetime.
bool is_valid(const runtime::row_lifetime& lifetime, std::uint64_t capacity) noexcept;

// Returns true if the table, of rows or dense, can be stepped by this optimizer.
bool fits_optimizer(const table_spec& table, optimizer_kind kind) noexcept;

// Puts capacity and lifetime into `into`. Errors: invalid_argument (a number that is not
// allowed, or an option without another that it is for).
runtime::status set_lifetime(const lifetime_options& options,
                             std::optional<std::uint64_t> capacity, rows_spec& into);

// Puts the bytes of rows that a shard keeps in memory into `into`, whose table has so many
// parts; without a number all are in memory. Errors: invalid_argument.
runtime::status set_memory(std::optional<std::uint64_t> bytes, std::uint64_t parts,
                           rows_spec& into);

// Checks what columns of rows are stepped with and begin with. Errors: invalid_argument.
runtime::status check_columns(const optimizer_spec& optimizer, const init_spec& init);

// Completes the numbers of a table whose rows have segments: its width, if it has none, and the
// optimizer that stands for the table.
void settle_segments(table_spec& table) noexcept;

// Checks that the table's optimizer steps such tables, and of a table of rows its numbers and
// that its job can have one. Errors: invalid_argument, unimplemented cases among them (the
// message says what is allowed).
runtime::status check_table(const table_spec& table, const job_spec& job);

}  // namespace tidegate::policies
