// From a YAML file and --set arguments to a cluster_spec that can run. Any thread.
//
//   auto spec = load_cluster("cluster.yaml", {"jobs.mlp.workers=8"});
//   if (!spec) std::cerr << spec.error().message();
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Chunks of all declared tables together; more would make placement itself large.
inline constexpr std::uint64_t declared_chunks_max = 1U << 20U;

// Errors: invalid_argument; the message holds every problem, one per line:
// `file:line:column: what is wrong; what is allowed`, or `--set path=value: ...`.
runtime::expected<policies::cluster_spec> parse_cluster(const std::string& yaml,
                                                        const std::string& file_name,
                                                        const std::vector<std::string>& sets);

// Reads the file first. Errors: also not_found and io_error.
runtime::expected<policies::cluster_spec> load_cluster(const std::string& file,
                                                       const std::vector<std::string>& sets);

}  // namespace tidegate::launch
