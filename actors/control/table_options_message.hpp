// Inspection of the options of tables, as they travel in messages (messages.hpp).
#pragma once

#include <caf/meta/type_name.hpp>

#include "policies/model/spec.hpp"

namespace tidegate::runtime {

template <class Inspector>
auto inspect(Inspector& f, rate_schedule& x) {
  return f(caf::meta::type_name("tidegate::rate_schedule"), x.kind, x.warmup, x.clocks,
           x.factor);
}
template <class Inspector>
auto inspect(Inspector& f, rule_name& x) {
  return f(caf::meta::type_name("tidegate::rule_name"), x.text);
}
template <class Inspector>
auto inspect(Inspector& f, optimizer_options& x) {
  return f(caf::meta::type_name("tidegate::optimizer_spec"), x.kind, x.learning_rate,
           x.momentum, x.beta1, x.beta2, x.epsilon, x.weight_decay, x.clip_value, x.schedule,
           x.lazy, x.l1, x.l2, x.beta, x.l21, x.reduce, x.reduce_rule, x.rule, x.rule_states);
}
template <class Inspector>
auto inspect(Inspector& f, row_lifetime& x) {
  return f(caf::meta::type_name("tidegate::row_lifetime"), x.admit_count, x.candidates,
           x.unseen, x.rows, x.by);
}

}  // namespace tidegate::runtime
