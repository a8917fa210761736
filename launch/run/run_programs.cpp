#include "launch/run/run_programs.hpp"

#include <optional>
#include <utility>

#include "launch/run/launch_plan.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

runtime::expected<run_programs> run_programs::find(const policies::cluster_spec& spec,
                                                   const variables& environment) {
  auto own = starter::create(spec, environment, own_hosts(spec));
  auto agents = agent_starter::create(spec, environment);
  // Nobody else asks for them.
  auto staged = policies::agent_hosts(spec).empty()
                    ? runtime::expected<std::vector<staged_file>>(std::vector<staged_file>())
                    : list_staged(spec);
  std::optional<runtime::status> failure;
  const auto add = [&](const runtime::status& why) {
    failure = failure
                  ? runtime::status(failure->code(), failure->message() + "\n" + why.message())
                  : why;
  };
  if (!own) add(own.error());
  if (!agents) add(agents.error());
  if (!staged) add(staged.error());
  if (failure) return runtime::fail(std::move(*failure));
  return run_programs{std::move(*own), std::move(*agents), std::move(*staged)};
}

}  // namespace tidegate::launch
