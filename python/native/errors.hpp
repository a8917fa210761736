// Outcomes of the C++ API as Python exceptions: tidegate.errors has the classes.
#pragma once

#include <nanobind/nanobind.h>
#include <utility>

#include <tidegate/status.hpp>

namespace tidegate::python {

// Raises the exception of this outcome's code, with the outcome's message. Call with the GIL.
[[noreturn]] void raise(const status& outcome);

// Raises if Python's signal handlers have raised while a wait was under way
// (KeyboardInterrupt), else if `outcome` is an error. Call with the GIL.
void check(const status& outcome);

template <class T>
T checked(expected<T> outcome) {
  check(outcome ? status() : outcome.error());
  return std::move(*outcome);
}

}  // namespace tidegate::python
