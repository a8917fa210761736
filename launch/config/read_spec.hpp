// From a YAML file and --set arguments to a cluster_spec that can run. Any thread.
//
//   auto spec = load_cluster("cluster.yaml", {"jobs.mlp.workers=8"});
//   if (!spec) std::cerr << spec.error().message();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/config/otlp_spec.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Chunks of all declared tables together; more would make placement itself large.
inline constexpr std::uint64_t declared_chunks_max = 1U << 20U;

// All that a cluster file says.
struct cluster_file {
  policies::cluster_spec spec;
  std::optional<otlp_spec> otlp;  // without it metrics are sent nowhere
};

// Errors: invalid_argument; the message holds every problem, one per line:
// `file:line:column: what is wrong; what is allowed`, or `--set path=value: ...`.
runtime::expected<cluster_file> parse_cluster_file(const std::string& yaml,
                                                   const std::string& file_name,
                                                   const std::vector<std::string>& sets);
// Of it what all processes share.
runtime::expected<policies::cluster_spec> parse_cluster(const std::string& yaml,
                                                        const std::string& file_name,
                                                        const std::vector<std::string>& sets);

// These read the file first. Errors: also not_found and io_error.
runtime::expected<cluster_file> load_cluster_file(const std::string& file,
                                                  const std::vector<std::string>& sets);
runtime::expected<policies::cluster_spec> load_cluster(const std::string& file,
                                                       const std::vector<std::string>& sets);

}  // namespace tidegate::launch
