#include "launch/run/going_on.hpp"

#include <algorithm>
#include <span>

#include "launch/config/read_spec.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/claim.hpp"
#include "policies/checkpoint/fit.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "runtime/objects/open_storage.hpp"

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

expected<std::string> read_text(const std::string& folder, const std::string& name) {
  const auto from = runtime::open_storage(folder);
  if (!from) return runtime::fail(from.error());
  const auto bytes = (*from)->size(name);
  if (!bytes) return runtime::fail(bytes.error());
  constexpr std::uint64_t bytes_max = 16U << 20U;
  if (*bytes > bytes_max)
    return runtime::fail(errc::corrupt, folder + "/" + name + ": is larger than 16 MiB");
  std::string text(static_cast<std::size_t>(*bytes), '\0');
  auto read = (*from)->read(name, 0, std::as_writable_bytes(std::span(text)));
  if (!read.ok()) return runtime::fail(std::move(read));
  return text;
}

// Under ssp and async a checkpoint has sums of aggregators beyond its clock: other sums cannot
// be told from what is in them.
status check_sums(const policies::cluster_spec& spec, const policies::job_spec& job) {
  if (job.consistency.kind == policies::consistency_kind::bsp) return {};
  const auto folder = policies::named_folder(job);
  if (folder.empty()) return {};  // the run's own file, always
  const auto record = policies::claim_folder(folder);
  const auto file = record + "/cluster.yaml";
  const auto text = read_text(record, "cluster.yaml");
  if (!text && text.error().code() == errc::not_found) return {};
  if (!text) return text.error();
  const auto before = parse_cluster(*text, file, {});
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
  const auto storage = runtime::make_storage(policies::checkpoint_folder(job, run_dir));
  if (!storage) return runtime::fail(storage.error());
  std::vector<std::string> findings;
  const auto newest = policies::checkpoint_catalog(**storage).newest(findings);
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
