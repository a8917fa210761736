#include "tests/runtime/device/updates/chunk_copy.hpp"

namespace tidegate::tests {

using namespace runtime::devices;
namespace kernels = runtime::kernels;

chunk_copy::chunk_copy(std::size_t elements, const table_shape& shape)
    : parameters_(shape.version_buffers, std::vector<float>(elements)),
      states_(shape.states, std::vector<float>(elements)),
      sums_(shape.sums, std::vector<float>(elements)) {}

std::vector<float>& chunk_copy::array(const array_name& name) {
  switch (name.kind) {
    case array_kind::parameters:
      return parameters_[name.copy];
    case array_kind::state1:
      return states_[0];
    case array_kind::state2:
      return states_[1];
    case array_kind::sum:
      break;
  }
  return sums_[name.copy];
}

void chunk_copy::step(const step_request& request,
                      std::span<const kernels::gradient> gradients) {
  auto& after = parameters_[request.to];
  if (request.sum) kernels::tree_sum(gradients, sums_[*request.sum].data(), after.size());
  const kernels::chunk_arrays arrays{.before = parameters_[request.from].data(),
                                     .after = after.data(),
                                     .state1 = states_.empty() ? nullptr : states_[0].data(),
                                     .state2 = states_.size() < 2 ? nullptr : states_[1].data(),
                                     .n = after.size()};
  if (request.kind == update_launch::step::assign)
    kernels::assign_sum(gradients, arrays);
  else
    kernels::apply_update(request.options, powers_, gradients, request.scale, arrays);
}

}  // namespace tidegate::tests
