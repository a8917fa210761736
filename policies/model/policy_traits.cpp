#include "policies/model/policy_traits.hpp"

#include <vector>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

constexpr int numbers[] = {
#define TIDEGATE_NUMBER(name, number, ...) number,
    TIDEGATE_POLICIES(TIDEGATE_NUMBER)
#undef TIDEGATE_NUMBER
};
constexpr bool numbers_follow_the_order() {
  int next = 0;
  for (const auto number : numbers)
    if (number != next++) return false;
  return true;
}
static_assert(numbers_follow_the_order(), "a policy is found by its number");

// By kind.
std::vector<policy_traits>& known_policies() {
  static std::vector<policy_traits> known = {
#define TIDEGATE_TRAITS(name, number, exact, waits, staleness) {#name, exact, waits, staleness},
      TIDEGATE_POLICIES(TIDEGATE_TRAITS)
#undef TIDEGATE_TRAITS
  };
  return known;
}

}  // namespace

const policy_traits& traits_of(consistency_kind kind) noexcept {
  const auto& known = known_policies();
  const auto index = static_cast<std::size_t>(kind);
  TIDEGATE_ASSERT(index < known.size(), "a policy of the registry");
  return known[index];
}

consistency_kind add_policy(const policy_traits& traits) {
  auto& known = known_policies();
  known.push_back(traits);
  return static_cast<consistency_kind>(known.size() - 1);
}

}  // namespace tidegate::policies
