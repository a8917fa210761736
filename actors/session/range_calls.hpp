// The calls of session for ranges of a table: what is checked of them, and the commands that
// they become. The session's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "policies/protocol/control_calls.hpp"
#include "runtime/base/element_range.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/pending.hpp>
#include <tidegate/table.hpp>

namespace tidegate::actors {

class session_impl;

class range_calls {
 public:
  using ranges = std::span<const runtime::element_range>;

  explicit range_calls(session_impl& home) : home_(home) {}

  // session::push() and pull() of ranges; without `values` in place. Errors: theirs.
  pending push(const table& where, ranges of, std::optional<std::span<const float>> values);
  pending pull(const table& where, ranges of, std::optional<std::span<float>> values);

 private:
  // `packed`: how many values are given, if any are.
  runtime::status check(const table& where, ranges of, std::optional<std::size_t> packed,
                        const char* doing) const;
  runtime::status check_finite(const table& where, ranges of, std::span<const float> values,
                               bool is_packed) const;

  session_impl& home_;
};

}  // namespace tidegate::actors
