// A chunk of a queue as it is on the CPU, in steps of runtime/kernels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/device/updates/requests.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::tests {

class chunk_copy {
 public:
  chunk_copy(std::size_t elements, const runtime::devices::table_shape& shape);

  std::vector<float>& array(const runtime::devices::array_name& name);
  // Does what the queue does, with these gradients in place of the request's inputs.
  void step(const runtime::devices::step_request& request,
            std::span<const runtime::kernels::gradient> gradients);
  const runtime::kernels::beta_powers& powers() const noexcept { return powers_; }

 private:
  std::vector<std::vector<float>> parameters_, states_, sums_;
  runtime::kernels::beta_powers powers_;
};

}  // namespace tidegate::tests
