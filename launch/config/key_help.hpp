// One key of a cluster file, or a few: `tidegate help yaml KEY`. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/config/yaml_keys.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// The keys that these words mean: that of the pattern ("jobs.*.workers") or of a path
// ("jobs.mlp.workers", "jobs.mlp.tables.t.segments[0].columns"), else all whose path ends so
// ("staleness", "evict.rows"). Empty: no key is meant.
std::vector<const yaml_key*> find_keys(std::string_view word, key_table table = known_keys());

// Returns type, default, what is allowed and the keys below, where a single key is meant, else
// a list of them. Errors: invalid_argument with the nearest that there are.
runtime::expected<std::string> key_help(std::string_view word, key_table table = known_keys());

}  // namespace tidegate::launch
