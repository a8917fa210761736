// A worker program that keeps state and has itself killed, for end-to-end tests.
#pragma once

#include <cstdint>

#include <tidegate/session.hpp>

namespace tidegate::tests {

struct keeping_options {
  std::uint64_t clocks = 100;
  std::uint64_t bytes = 0;         // of the largest of what is kept, beside two small values
  std::uint64_t lifetime_us = 0;   // the process kills itself within so long; 0: it does not
  std::uint64_t pause_us_max = 0;  // before each push
  bool exchanges = false;          // a clock in one call
};

// Pushes ones, so that the sum says how many pushes there were, and with each clock keeps what
// follows from rank and clock: whoever takes its place checks that it has the state of its
// clock. Where the state is lost it begins anew and reports that. Errors: corrupt (the state
// of another clock, or torn), those of the session.
status keep_and_push(session& session, const keeping_options& options);

}  // namespace tidegate::tests
