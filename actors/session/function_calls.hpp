// The calls of session for functions of a table: what is checked of them, the commands that
// they become, and their results. The session's thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"
#include <tidegate/table.hpp>

namespace tidegate::actors {

class session_impl;

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
