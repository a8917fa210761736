#include "actors/session/optimizers.hpp"

#include "policies/model/option_rules.hpp"

namespace tidegate::actors {

runtime::expected<policies::optimizer_spec> to_spec(const optimizer& wanted,
                                                    std::string_view table) {
  std::optional<policies::schedule_options> schedule;
  if (wanted.schedule)
    schedule = {.kind = wanted.schedule->kind,
                .warmup = wanted.schedule->warmup,
                .clocks = wanted.schedule->clocks,
                .factor = wanted.schedule->factor};
  return policies::checked_optimizer({.name = wanted.name,
                                      .learning_rate = wanted.learning_rate,
                                      .momentum = wanted.momentum,
                                      .beta1 = wanted.beta1,
                                      .beta2 = wanted.beta2,
                                      .epsilon = wanted.epsilon,
                                      .weight_decay = wanted.weight_decay,
                                      .l1 = wanted.l1,
                                      .l2 = wanted.l2,
                                      .beta = wanted.beta,
                                      .l21 = wanted.l21,
                                      .clip_value = wanted.clip_value,
                                      .schedule = schedule,
                                      .lazy = wanted.lazy,
                                      .reduce = wanted.reduce,
                                      .states = wanted.states},
                                     table);
}

}  // namespace tidegate::actors
