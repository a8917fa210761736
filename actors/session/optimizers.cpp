#include "actors/session/optimizers.hpp"

#include "policies/model/option_rules.hpp"

namespace tidegate::actors {

runtime::expected<policies::optimizer_spec> to_spec(const optimizer& wanted,
                                                    std::string_view table) {
  return policies::checked_optimizer({.name = wanted.name,
                                      .learning_rate = wanted.learning_rate,
                                      .momentum = wanted.momentum,
                                      .beta1 = wanted.beta1,
                                      .beta2 = wanted.beta2,
                                      .epsilon = wanted.epsilon,
                                      .weight_decay = wanted.weight_decay},
                                     table);
}

}  // namespace tidegate::actors
