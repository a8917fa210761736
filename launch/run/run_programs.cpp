#include "launch/run/run_programs.hpp"

#include <utility>

#include "launch/run/launch_plan.hpp"

namespace tidegate::launch {

runtime::expected<run_programs> run_programs::find(const policies::cluster_spec& spec,
                                                   const variables& environment) {
  auto own = starter::create(spec, environment, own_hosts(spec));
  auto agents = agent_starter::create(spec, environment);
  if (own && agents) return run_programs{std::move(*own), std::move(*agents)};
  if (own) return runtime::fail(agents.error());
  if (agents) return runtime::fail(own.error());
  return runtime::fail(own.error().code(),
                       own.error().message() + "\n" + agents.error().message());
}

}  // namespace tidegate::launch
