// The values that options of optimizers and of first values may have, whether a YAML file or a
// worker's code gives them. Pure, any thread.
#pragma once

#include <optional>
#include <string_view>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::policies {

// A schedule of learning rates as a program asks for it; what is not given has the kind's
// default.
struct schedule_options {
  std::string_view kind = {};
  std::optional<std::uint64_t> warmup = std::nullopt;
  std::optional<std::uint64_t> clocks = std::nullopt;
  std::optional<float> factor = std::nullopt;
};

// An optimizer as a program asks for it; an option that is not given has the optimizer's
// default.
struct optimizer_options {
  std::string_view name = {};  // empty: the job's optimizer, and nothing else is given
  std::optional<float> learning_rate = std::nullopt;
  std::optional<float> momentum = std::nullopt;
  std::optional<float> beta1 = std::nullopt;
  std::optional<float> beta2 = std::nullopt;
  std::optional<float> epsilon = std::nullopt;
  std::optional<float> weight_decay = std::nullopt;
  std::optional<float> l1 = std::nullopt;
  std::optional<float> l2 = std::nullopt;
  std::optional<float> beta = std::nullopt;
  std::optional<float> l21 = std::nullopt;
  std::optional<float> clip_value = std::nullopt;
  std::optional<schedule_options> schedule = std::nullopt;
  std::optional<bool> lazy = std::nullopt;
  std::optional<std::string_view> reduce = std::nullopt;
  std::optional<std::uint64_t> states = std::nullopt;
};

// The values that one option may have, and the optimizers that it belongs to.
struct optimizer_rule {
  std::string_view name;     // as in YAML
  std::string_view allowed;  // for messages
  std::string_view doc;      // what it means
  bool (*is_allowed)(float) = nullptr;
  runtime::optimizer_option option = runtime::optimizer_option::none;
  float optimizer_spec::*value = nullptr;
  std::optional<float> optimizer_options::*given = nullptr;

  // Returns true if optimizers of this kind read the option; all read a learning rate.
  constexpr bool belongs_to(optimizer_kind kind) const {
    return runtime::contains(runtime::traits_of(kind).options, option);
  }
  constexpr bool belongs_to_all() const {
    return option == runtime::optimizer_option::learning_rate;
  }
};

bool is_finite(float x);
bool is_finite_not_negative(float x);
bool is_finite_positive(float x);
bool is_decay(float x);  // at least 0, below 1

inline constexpr std::string_view finite_not_negative_text = "a finite number >= 0";
inline constexpr std::string_view decay_text = ">= 0 and < 1";

inline constexpr optimizer_rule optimizer_rules[] = {
    {.name = "learning_rate",
     .allowed = finite_not_negative_text,
     .doc = "step size",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::learning_rate,
     .value = &optimizer_spec::learning_rate,
     .given = &optimizer_options::learning_rate},
    {.name = "momentum",
     .allowed = decay_text,
     .doc = "share of the last step that is kept",
     .is_allowed = is_decay,
     .option = runtime::optimizer_option::momentum,
     .value = &optimizer_spec::momentum,
     .given = &optimizer_options::momentum},
    {.name = "beta1",
     .allowed = decay_text,
     .doc = "decay of the mean of gradients",
     .is_allowed = is_decay,
     .option = runtime::optimizer_option::beta1,
     .value = &optimizer_spec::beta1,
     .given = &optimizer_options::beta1},
    {.name = "beta2",
     .allowed = decay_text,
     .doc = "decay of the mean of squared gradients",
     .is_allowed = is_decay,
     .option = runtime::optimizer_option::beta2,
     .value = &optimizer_spec::beta2,
     .given = &optimizer_options::beta2},
    {.name = "epsilon",
     .allowed = "a finite number > 0",
     .doc = "keeps the step finite where gradients are 0",
     .is_allowed = is_finite_positive,
     .option = runtime::optimizer_option::epsilon,
     .value = &optimizer_spec::epsilon,
     .given = &optimizer_options::epsilon},
    {.name = "weight_decay",
     .allowed = finite_not_negative_text,
     .doc = "share of a parameter, times learning_rate, that a step takes off",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::weight_decay,
     .value = &optimizer_spec::weight_decay,
     .given = &optimizer_options::weight_decay},
    {.name = "l1",
     .allowed = finite_not_negative_text,
     .doc = "how much the absolute value of a parameter costs: small ones become 0",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::l1,
     .value = &optimizer_spec::l1,
     .given = &optimizer_options::l1},
    {.name = "l2",
     .allowed = finite_not_negative_text,
     .doc = "how much half of the square of a parameter costs; group_adagrad: the square",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::l2,
     .value = &optimizer_spec::l2,
     .given = &optimizer_options::l2},
    {.name = "beta",
     .allowed = finite_not_negative_text,
     .doc = "what is added to the root of the sum of squares, which divides the step",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::beta,
     .value = &optimizer_spec::beta,
     .given = &optimizer_options::beta},
    {.name = "l21",
     .allowed = finite_not_negative_text,
     .doc = "how much the norm of a row costs, times the root of its dim: small rows become 0",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::l21,
     .value = &optimizer_spec::l21,
     .given = &optimizer_options::l21},
    {.name = "clip_value",
     .allowed = finite_not_negative_text,
     .doc =
         "brings each element of the reduced gradient between it and its negative; 0: no limit",
     .is_allowed = is_finite_not_negative,
     .option = runtime::optimizer_option::clip_value,
     .value = &optimizer_spec::clip_value,
     .given = &optimizer_options::clip_value},
};

// The values that a schedule may have.
inline constexpr std::uint64_t schedule_clocks_max = 0xffff'ffff;
inline constexpr std::string_view schedule_clocks_text = "1 to 4294967295";
inline constexpr std::string_view schedule_warmup_text = "0 to 4294967295";
inline constexpr std::string_view schedule_factor_text = ">= 0 and <= 1";
bool is_share(float x);  // at least 0, at most 1

// Returns the schedule of this kind before anything else about it is given.
constexpr runtime::rate_schedule default_schedule(runtime::schedule_kind kind) noexcept {
  return {.kind = kind,
          .warmup = 0,
          .clocks = 0,
          .factor = kind == runtime::schedule_kind::step ? 0.1F : 0.0F};
}

// What `states` may be.
inline constexpr std::string_view states_text = "0 to 2; only with name plugin:NAME";

// Sets the reduction of this word: of runtime::reduction_words, or "plugin:NAME". Returns false
// for another.
bool set_reduction(std::string_view word, optimizer_spec& into);

// Returns the optimizer that a program asks for; without a name a default spec, which stands
// for the job's. `table` is for the message. Errors: invalid_argument (no such optimizer, an
// option without a name, of another optimizer or schedule, or with a value that is not
// allowed).
runtime::expected<optimizer_spec> checked_optimizer(const optimizer_options& options,
                                                    std::string_view table);

// First values as a program asks for them: those that are pushed at clock 0 if `pushed`,
// uniform in [-uniform, uniform) unless `uniform` is 0, else `constant`. Errors:
// invalid_argument (a value that is not allowed, or more than one way).
struct init_options {
  float uniform = 0.0F;
  float constant = 0.0F;
  bool pushed = false;
};
// Returns the first values that a program asks for; `table` is for the message.
runtime::expected<init_spec> checked_init(const init_options& options, std::string_view table);

}  // namespace tidegate::policies
