#include "launch/run/going_on.hpp"

#include <algorithm>
#include <filesystem>

#include "launch/config/read_spec.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/claim.hpp"
#include "policies/checkpoint/fit.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;
using runtime::expected;
using runtime::status;

bool have_same_sums(const policies::aggregation& left, const policies::aggregation& right) {
  const auto& a = left.aggregators;
  const auto& b = right.aggregators;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& l, const auto& r) { return l.nodes == r.nodes; });
}

// Under ssp and async a checkpoint has sums of aggregators beyond its clock: other sums cannot
// be told from what is in them.
status check_sums(const policies::cluster_spec& spec, const policies::job_spec& job) {
  if (job.consistency.kind == policies::consistency_kind::bsp) return {};
  const auto folder = policies::named_folder(job);
  if (folder.empty()) return {};  // the run's own file, always
  const auto file = policies::claim_folder(folder) + "/cluster.yaml";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  const auto before = load_cluster(file, {});
  if (!before) return before.error();
  const auto* old = before->find_job(job.name);
  if (old == nullptr || have_same_sums(policies::plan_aggregation(*before, *old),
                                       policies::plan_aggregation(spec, job)))
    return {};
  return {errc::invalid_argument,
          "job " + job.name +
              ": its aggregators sum other workers than those of the run that wrote the "
              "checkpoints (" +
              file +
              "), and under ssp and async sums are in these: name the same number of hosts, "
              "and the same jobs." +
              job.name + ".aggregators"};
}

expected<std::string> place_of(const policies::cluster_spec& spec,
                               const policies::job_spec& job, const std::string& run_dir) {
  const auto begins = "job " + job.name + " begins anew: it has no ";
  if (!job.checkpoint) return begins + "checkpoints (jobs." + job.name + ".checkpoint)";
  if (run_dir.empty() && policies::named_folder(job).empty())
    return begins + "folder of its own for them (jobs." + job.name + ".checkpoint.path)";
  auto storage = runtime::posix_storage::make(policies::checkpoint_folder(job, run_dir));
  if (!storage) return runtime::fail(storage.error());
  std::vector<std::string> findings;
  const auto newest = policies::checkpoint_catalog(*storage).newest(findings);
  if (!newest) return runtime::fail(newest.error());
  if (!*newest) return begins + "whole checkpoint yet";
  if (auto fits = policies::check_fit(**newest, job); !fits.ok())
    return runtime::fail(std::move(fits));
  if (auto same = check_sums(spec, job); !same.ok()) return runtime::fail(std::move(same));
  const auto& manifest = (*newest)->manifest();
  return "job " + job.name + " goes on from checkpoint " + to_string(manifest.id) + ", clock " +
         std::to_string(manifest.clock);
}

}  // namespace

expected<std::vector<std::string>> places_of_jobs(const policies::cluster_spec& spec,
                                                  const std::string& run_dir,
                                                  const std::vector<std::string>& cancelled) {
  std::vector<std::string> places;
  for (const auto& job : spec.jobs) {
    if (std::find(cancelled.begin(), cancelled.end(), job.name) != cancelled.end()) {
      places.push_back("job " + job.name + " stays cancelled");
      continue;
    }
    auto place = place_of(spec, job, run_dir);
    if (!place) return runtime::fail(place.error());
    places.push_back(std::move(*place));
  }
  return places;
}

}  // namespace tidegate::launch
