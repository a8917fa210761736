// Where a worker's state is committed and copied, as the client side of its job sees it. A
// session implements it, or a simulated program. One thread; nothing here calls back.
#pragma once

#include <cstdint>

#include "runtime/base/mirror_request.hpp"

namespace tidegate::policies {

class state_port {
 public:
  virtual ~state_port() = default;

  // Returns of how many versions one is copied; 0: none is. Always the same.
  virtual std::uint64_t mirror_every() const = 0;
  // Commits what the worker keeps as the state of the beginning of this clock; whole when it
  // returns. Returns false, and writes no version, if the worker keeps nothing yet.
  virtual bool commit(std::uint64_t version) = 0;
  // Asks the agent of this host for a copy (mirror_gate.hpp); client_core::mirrored() follows.
  virtual void mirror(const runtime::mirror_request& request) = 0;
};

}  // namespace tidegate::policies
