// The functions that shards run on their chunks and parts for workers that call them: those
// that are built in, and those of plugins (include/tidegate/plugin.h).
//
// What a function returns follows from its arguments and the chunk alone, and chunks, or parts,
// are combined in their order, so results do not depend on how many shards there are. The sums
// of built-in functions are made in double precision, element by element in their order.
//
// Filled before threads read it; then any thread. Running allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/functions/call_wire.hpp"
#include "runtime/functions/plugin_rules.hpp"
#include <tidegate/plugin.h>

namespace tidegate::runtime {

// A chunk of a table, or the rows of a part of one, in one version.
struct function_chunk {
  std::span<const float> parameters;
  std::uint64_t first = 0;                  // element of a dense table
  std::span<const std::uint64_t> ids = {};  // of rows, ascending, one behind the other
  std::uint64_t dim = 0;                    // of each; 0 of a dense table
};

class function_library {
 public:
  // Those that are built in.
  function_library();

  // Adds the functions and rules of a shared library, which is loaded and stays. All or none.
  // Errors: not_found (no such file, or it cannot be loaded), invalid_argument (no plugin, of
  // another ABI, or a function or rule that is not right or has a name that is taken).
  status add_plugin(const std::string& path);

  // Runs the function of that name on a chunk; `outcome` says if it could. While one of a
  // plugin runs it is watched (function_watch.hpp). Of no parameters the results are those that
  // change nothing where they are combined with others, and nothing runs.
  function_results run(const function_call& call, const function_chunk& chunk) const;

  // Returns the optimizers and reductions of its plugins.
  const plugin_rules& rules() const noexcept { return rules_; }

  // Returns the names of all functions, for messages.
  std::string names() const;

  // One with what is built in alone.
  static const function_library& built_in();

 private:
  struct entry {
    std::string plugin;  // where it comes from; empty: built in
    tidegate_function function;
  };

  const entry* find(std::string_view name) const;
  status check(const std::string& path, std::span<const tidegate_function> functions) const;

  std::vector<entry> entries_;
  plugin_rules rules_;
};

}  // namespace tidegate::runtime
