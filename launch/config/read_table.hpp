// Optimizers and declared tables of a job. Pure, any thread.
#pragma once

#include <vector>

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// Reads the key "optimizer" of `parent`, a map or a name alone. Keys that are not given keep
// the values of `base`.
policies::optimizer_spec read_optimizer(const section& parent,
                                        const policies::optimizer_spec& base);

// `from`: the map of tables; `job`: what is read of it so far. Tables with problems are left
// out.
std::vector<policies::table_spec> read_tables(const section& from,
                                              const policies::job_spec& job);

}  // namespace tidegate::launch
