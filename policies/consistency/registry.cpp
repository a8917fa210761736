// The registry of consistency policies: one line each.
#include "policies/consistency/async.hpp"
#include "policies/consistency/bsp.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/consistency/ssp.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

std::unique_ptr<consistency_policy> make_policy(const consistency_spec& spec,
                                                std::uint32_t workers) {
  switch (spec.kind) {
    case consistency_kind::bsp:
      return std::make_unique<bsp_policy>(workers);
    case consistency_kind::ssp:
      return std::make_unique<ssp_policy>(workers, spec.staleness);
    case consistency_kind::async:
      return std::make_unique<async_policy>(workers);
  }
  TIDEGATE_ASSERT(false, "a policy of the registry");
  return nullptr;
}

std::string to_string(const consistency_spec& spec) {
  switch (spec.kind) {
    case consistency_kind::bsp:
      return "bsp";
    case consistency_kind::ssp:
      return "ssp(" + std::to_string(spec.staleness) + ")";
    case consistency_kind::async:
      return "async";
  }
  return "unknown";
}

}  // namespace tidegate::policies
