#include <utility>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

#define TIDEGATE_DECLARE(name, ...) policy_factory make_##name;
TIDEGATE_POLICIES(TIDEGATE_DECLARE)
#undef TIDEGATE_DECLARE

namespace {

// By kind.
std::vector<policy_factory*>& factories() {
  static std::vector<policy_factory*> all = {
#define TIDEGATE_FACTORY(name, ...) make_##name,
      TIDEGATE_POLICIES(TIDEGATE_FACTORY)
#undef TIDEGATE_FACTORY
  };
  return all;
}

}  // namespace

consistency_kind register_policy(const policy_traits& traits, policy_factory* factory) {
  const auto kind = add_policy(traits);
  factories().push_back(factory);
  TIDEGATE_ASSERT(static_cast<std::size_t>(kind) + 1 == factories().size(),
                  "policies are registered in one order");
  return kind;
}

std::unique_ptr<consistency_policy> make_policy(const consistency_spec& spec,
                                                std::uint32_t workers) {
  const auto index = static_cast<std::size_t>(spec.kind);
  TIDEGATE_ASSERT(index < factories().size(), "a policy of the registry");
  return factories()[index](spec, workers);
}

std::string to_string(const consistency_spec& spec) {
  const auto& traits = traits_of(spec.kind);
  std::string text(traits.name);
  if (traits.has_staleness) {
    text += '(';
    text += std::to_string(spec.staleness);
    text += ')';
  }
  return text;
}

}  // namespace tidegate::policies
