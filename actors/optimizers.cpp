#include "actors/optimizers.hpp"

#include <algorithm>
#include <iterator>

namespace tidegate::actors {

namespace {

struct known_optimizer {
  std::string_view name;  // as in YAML
  policies::optimizer_kind spec;
};

constexpr known_optimizer known[] = {
    {"sgd", policies::optimizer_kind::sgd},
    {"momentum", policies::optimizer_kind::momentum},
    {"adam", policies::optimizer_kind::adam},
    {"nesterov", policies::optimizer_kind::nesterov},
    {"adagrad", policies::optimizer_kind::adagrad},
    {"adamw", policies::optimizer_kind::adamw},
};

std::string known_names() {
  std::string names;
  for (const auto& k : known) names += (names.empty() ? "" : ", ") + std::string(k.name);
  return names;
}

}  // namespace

runtime::expected<policies::optimizer_spec> to_spec(const optimizer& wanted,
                                                    std::string_view table) {
  policies::optimizer_spec spec;
  if (!wanted.name.empty()) {
    const auto* found = std::find_if(std::begin(known), std::end(known),
                                     [&](const auto& k) { return k.name == wanted.name; });
    if (found == std::end(known))
      return runtime::fail(runtime::errc::invalid_argument,
                           "optimizer '" + wanted.name + "' of table '" + std::string(table) +
                               "' is not known: " + known_names());
    spec = policies::default_optimizer(found->spec);
  }
  spec.learning_rate = wanted.learning_rate;
  spec.momentum = wanted.momentum;
  spec.beta1 = wanted.beta1;
  spec.beta2 = wanted.beta2;
  if (wanted.epsilon) spec.epsilon = *wanted.epsilon;
  if (wanted.weight_decay && spec.kind == policies::optimizer_kind::adamw)
    spec.weight_decay = *wanted.weight_decay;
  return spec;
}

}  // namespace tidegate::actors
