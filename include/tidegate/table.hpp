// Tables of a job as a worker sees them, and the options of a table that a worker creates.
// Plain values, no thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tidegate {

// A handle to a table of the job; cheap to copy, valid as long as its session.
struct table {
  std::uint32_t id = 0;
  std::uint64_t size = 0;  // elements of float32
};

// Elements of a table that lie side by side: `values[i]` is element `first + i`. Valid as long
// as session::parameter_stretches says.
struct stretch {
  std::uint64_t first = 0;
  std::span<const float> values;
};

// The elements [first, last) of a table.
struct element_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const element_range&, const element_range&) = default;
};

// How a table's learning rate follows the clocks of its steps: the step of clock c is made at
// the optimizer's rate times a share that depends on c alone. docs/yaml.md has the defaults.
struct schedule {
  // "constant": the rate, after the warm-up. "step": multiplied by `factor` every `clocks`.
  // "cosine": falls along half a cosine over `clocks`, to `factor` times the rate.
  std::string kind = "constant";
  std::uint64_t warmup =
      0;  // clocks in which the rate rises linearly; the others come after it
  std::optional<std::uint64_t> clocks = std::nullopt;  // required by "step" and "cosine"
  std::optional<float> factor = std::nullopt;          // 0 to 1
};

// The optimizer that shards run for a table created by a worker. A value that is not given is
// the default of the named optimizer; docs/yaml.md has the defaults, what is allowed, and which
// value belongs to which optimizer. Other values are refused by open_table.
struct optimizer {
  // "sgd", "momentum", "nesterov", "adagrad", "adam", "adamw", "assign", "proximal"; of tables
  // of rows alone "rowwise_adagrad", "ftrl", "group_adagrad"; "plugin:NAME", an optimizer of a
  // plugin of the cluster (plugin.h). Empty: the job's optimizer as it is; then no value may be
  // given.
  std::string name;
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
  // Brings each element of the reduced gradient into [-clip_value, clip_value]; 0: no limit.
  std::optional<float> clip_value = std::nullopt;
  std::optional<tidegate::schedule> schedule = std::nullopt;
  // An element that no worker pushes in a clock makes no step in it: neither its parameter nor
  // its state changes, and Adam corrects its bias as of the clock. Needed to push ranges of the
  // table; false where it is not given.
  std::optional<bool> lazy = std::nullopt;
  // How what workers push in a clock becomes one, element by element, of those who pushed it:
  // "mean" (over all workers), "sum", "max", "min", "product", "or" (the first number that is
  // not 0, or 0), "and" (0, or the last number), or "plugin:NAME", a reduction of a plugin; as
  // the job says where it is not given. In a table of rows it makes one of the gradients of an
  // id that comes more than once, too; workers have no plugins, so that such a push is refused
  // where it is one of a plugin. Where each push is a step of its own, as under ssp and async,
  // there is nothing to reduce.
  std::optional<std::string> reduce = std::nullopt;
  // The numbers that "plugin:NAME" keeps for each element, 0 to 2, as the plugin says; 0 where
  // it is not given.
  std::optional<std::uint64_t> states = std::nullopt;
};

struct table_options {
  tidegate::optimizer optimizer;
  // At most one of the three may differ from its default; finite numbers.
  float init_uniform = 0.0F;   // > 0: start uniform in [-init_uniform, init_uniform)
  float init_constant = 0.0F;  // start at this value
  // Start at what one worker pushes at clock 0: the step of clock 0 sets the parameters to the
  // push, whatever the optimizer; under bsp to the sum, where several workers push.
  bool init_pushed = false;
};

}  // namespace tidegate
