// The calls of session for functions of a table: what is checked of them, the commands that
// those of dense tables become, and their results. The session's thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/functions/call_wire.hpp"
#include <tidegate/table.hpp>

namespace tidegate::actors {

class session_impl;

// How messages name a call.
std::string call_subject(std::string_view function, std::string_view table);
// Errors: invalid_argument (a name or arguments that no call takes).
runtime::status check_call(const std::string& subject, std::string_view function,
                           std::span<const double> arguments);
// Returns what the caller is given. Errors: not_found, invalid_argument, corrupt.
runtime::expected<std::vector<double>> values_of(const runtime::function_results& results,
                                                 const std::string& subject,
                                                 std::size_t arguments);

class function_calls {
 public:
  explicit function_calls(session_impl& home) : home_(home) {}

  // session::call(). Errors: its.
  runtime::expected<std::vector<double>> call(const table& where, std::string_view function,
                                              std::span<const double> arguments);

 private:
  session_impl& home_;
};

}  // namespace tidegate::actors
