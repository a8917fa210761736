#include "policies/placement/aggregation_tree.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "policies/placement/hosts.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

// A worker, or the sum that an aggregator hands on.
struct source {
  rank_node node;
  std::uint32_t aggregator = no_aggregator;
};

std::uint32_t add_aggregator(aggregation& into, std::span<const source> children,
                             std::vector<rank_node> nodes) {
  const auto index = static_cast<std::uint32_t>(into.aggregators.size());
  auto& place = into.aggregators.emplace_back();
  place.nodes = std::move(nodes);
  for (const auto& child : children) {
    place.members.push_back(child.node.first);
    if (child.aggregator == no_aggregator)
      into.of_worker[child.node.first] = index;
    else
      into.aggregators[child.aggregator].parent = index;
  }
  return index;
}

// Groups of k nodes, then groups of k groups, until k are left.
std::vector<source> sum_by_fan_in(std::uint64_t fan_in, std::vector<source> nodes,
                                  aggregation& into) {
  const auto workers = static_cast<std::uint32_t>(nodes.size());
  for (std::uint64_t size = fan_in; nodes.size() > fan_in; size *= fan_in) {
    std::vector<source> sums;
    for (std::size_t at = 0; at < nodes.size();) {
      const auto block = nodes[at].node.first / size;
      auto end = at;
      while (end < nodes.size() && nodes[end].node.first / size == block) ++end;
      const rank_node node{
          static_cast<std::uint32_t>(block * size),
          static_cast<std::uint32_t>(std::min<std::uint64_t>((block + 1) * size, workers))};
      if (end - at == 1)
        sums.push_back(nodes[at]);  // nothing to sum
      else
        sums.push_back(
            {node, add_aggregator(into, std::span(nodes).subspan(at, end - at), {node})});
      at = end;
    }
    nodes = std::move(sums);
  }
  return nodes;
}

// Ascending ranks as the largest aligned blocks that hold no others. The job's last block ends
// with its last rank.
std::vector<rank_node> blocks_of(std::span<const std::uint32_t> ranks, std::uint32_t workers) {
  std::vector<rank_node> blocks;
  for (std::size_t at = 0; at < ranks.size();) {
    const std::uint64_t first = ranks[at];
    rank_node block{ranks[at], ranks[at] + 1};
    std::size_t held = 1;
    for (std::uint64_t size = 2; first % size == 0 && size < 2 * std::uint64_t{workers};
         size *= 2) {
      const auto end = std::min<std::uint64_t>(first + size, workers);
      const auto count = end - first;
      if (at + count > ranks.size() || ranks[at + count - 1] != end - 1) break;
      block.end = static_cast<std::uint32_t>(end);
      held = count;
    }
    blocks.push_back(block);
    at += held;
  }
  return blocks;
}

std::vector<source> sum_by_host(const cluster_spec& cluster, const job_spec& job,
                                const std::vector<source>& workers, aggregation& into) {
  std::map<const host_spec*, std::vector<std::uint32_t>> ranks;
  std::vector<const host_spec*> order;  // by lowest rank: pointers have none of their own
  for (std::uint32_t rank = 0; rank < job.workers; ++rank) {
    auto& here = ranks[host_of_worker(cluster, job, rank)];
    if (here.empty()) order.push_back(host_of_worker(cluster, job, rank));
    here.push_back(rank);
  }
  std::vector<source> sums;
  for (const auto* host : order) {
    const auto& here = ranks.at(host);
    if (here.size() == 1) {
      sums.push_back(workers[here.front()]);
      continue;
    }
    std::vector<source> children;
    for (const auto rank : here) children.push_back(workers[rank]);
    const auto blocks = blocks_of(here, job.workers);
    const auto index = add_aggregator(into, children, blocks);
    for (const auto& block : blocks) sums.push_back({block, index});
  }
  return sums;
}

// Returns true if they are a worker's gradient, or sums of the same aggregator.
bool are_of_one_host(std::span<const source> sums) {
  return sums.size() == 1 || (sums.front().aggregator != no_aggregator &&
                              std::ranges::all_of(sums, [&](const source& other) {
                                return other.aggregator == sums.front().aggregator;
                              }));
}

// The sums of a rack's hosts, as the fewest blocks that the ranks of the rack are.
std::vector<source> sum_by_rack(const cluster_spec& cluster, const job_spec& job,
                                const std::vector<source>& of_hosts, aggregation& into) {
  std::map<std::string_view, std::vector<source>> racks;
  std::vector<std::string_view> order;  // by lowest rank
  std::vector<source> sums;
  for (const auto& sum : of_hosts) {
    const auto* host = host_of_worker(cluster, job, sum.node.first);
    if (host == nullptr || host->rack.empty()) {
      sums.push_back(sum);
      continue;
    }
    auto& here = racks[host->rack];
    if (here.empty()) order.push_back(host->rack);
    here.push_back(sum);
  }
  for (const auto rack : order) {
    auto& here = racks.at(rack);
    if (are_of_one_host(here)) {
      sums.insert(sums.end(), here.begin(), here.end());
      continue;
    }
    std::ranges::sort(here, {}, [](const source& sum) { return sum.node.first; });
    std::vector<std::uint32_t> ranks;
    for (const auto& sum : here)
      for (auto rank = sum.node.first; rank < sum.node.end; ++rank) ranks.push_back(rank);
    const auto blocks = blocks_of(ranks, job.workers);
    const auto index = add_aggregator(into, here, blocks);
    for (const auto& block : blocks) sums.push_back({block, index});
  }
  return sums;
}

}  // namespace

std::uint32_t aggregation::depths() const noexcept {
  std::uint32_t depths = 0;
  for (const auto& aggregator : aggregators) depths = std::max(depths, aggregator.depth + 1);
  return depths;
}

aggregation plan_aggregation(const cluster_spec& cluster, const job_spec& job) {
  aggregation plan;
  plan.of_worker.assign(job.workers, no_aggregator);
  std::vector<source> nodes;
  for (std::uint32_t rank = 0; rank < job.workers; ++rank)
    nodes.push_back({{rank, rank + 1}, no_aggregator});
  switch (job.aggregators.kind) {
    case aggregators_kind::none:
      break;
    case aggregators_kind::fan_in:
      TIDEGATE_ASSERT(job.aggregators.fan_in >= 2, "a sum has two inputs");
      nodes = sum_by_fan_in(job.aggregators.fan_in, std::move(nodes), plan);
      break;
    case aggregators_kind::per_host:
      nodes = sum_by_host(cluster, job, nodes, plan);
      break;
    case aggregators_kind::per_rack:
      nodes = sum_by_rack(cluster, job, sum_by_host(cluster, job, nodes, plan), plan);
      break;
  }
  for (const auto& node : nodes) plan.top.push_back(node.node.first);
  std::sort(plan.top.begin(), plan.top.end());
  // Parents come after their children.
  for (auto at = plan.aggregators.rbegin(); at != plan.aggregators.rend(); ++at)
    if (at->parent != no_aggregator) at->depth = plan.aggregators[at->parent].depth + 1;
  return plan;
}

const host_spec* host_of_aggregator(const cluster_spec& cluster, const job_spec& job,
                                    const aggregator_place& place) noexcept {
  return host_of_worker(cluster, job, place.nodes.front().first);
}

}  // namespace tidegate::policies
