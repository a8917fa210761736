// The effects of a coordinator as text, a line for each, in the order in which a shell carries
// them out. A line names whoever is called or answered, and all that is said there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/core.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies::tests {

using lines = std::vector<std::string>;

inline std::string text(std::uint64_t number) {
  return std::to_string(number);
}

// " 0 1 2"; `each` makes the text of an element.
template <class List, class Text>
std::string list_text(const List& list, const Text& each) {
  std::string all;
  for (const auto& element : list) all += " " + each(element);
  return all;
}
inline std::string list_text(const std::vector<std::uint32_t>& numbers) {
  return list_text(numbers, [](std::uint32_t number) { return text(number); });
}

// "1.2": of run 1, since view 2.
inline std::string epoch_text(std::uint64_t epoch) {
  return text(run_of(epoch)) + "." + text(static_cast<std::uint32_t>(epoch));
}

inline std::string incarnation_text(std::uint32_t incarnation) {
  return incarnation == 1 ? "" : "#" + text(incarnation);
}
inline std::string worker_name(const std::string& job, std::uint32_t rank,
                               std::uint32_t incarnation = 1) {
  return process_name{.role = process_role::worker, .job = job, .index = rank}.to_string() +
         incarnation_text(incarnation);
}
inline std::string aggregator_name(const std::string& job, std::uint32_t index,
                                   std::uint32_t incarnation = 1) {
  return process_name{.role = process_role::aggregator, .job = job, .index = index}
             .to_string() +
         incarnation_text(incarnation);
}

class effect_lines {
 public:
  effect_lines(const cluster_spec& cluster, std::uint64_t token)
      : chains_(cluster.has_chains()), shards_(cluster.shards) {
    for (const auto& job : cluster.jobs) jobs_[runtime::stream_key(token, job.name)] = job.name;
  }

  // "shard-0", or "shard-0.1" where shards have members.
  std::string shard_name(std::uint32_t shard, std::uint32_t member,
                         std::uint32_t incarnation = 1) const {
    return "shard-" + text(shard) + (chains_ ? "." + text(member) : "") +
           incarnation_text(incarnation);
  }
  std::string callee_of(const coordinator_effects::call_shard& call) const {
    return call.aggregator_of.empty() ? shard_name(call.shard, call.member)
                                      : aggregator_name(call.aggregator_of, call.shard);
  }
  std::string process_text(shard_map::process process) const {
    return "process " + name_of(process, shards_).to_string();
  }

  std::string text_of(const coordinator_record& record) const {
    return "record " + encode(record).key;
  }
  std::string text_of(const coordinator_effects::call_shard& call) const {
    return "call " + callee_of(call) + ": " +
           std::visit([this](const auto& content) { return text_of(content); }, call.message);
  }
  std::string text_of(const coordinator_effects::tell_moved& move) const {
    const auto& moved = move.message;
    return "tell " +
           (move.aggregates ? aggregator_name(move.job, move.index)
                            : worker_name(move.job, move.index)) +
           ": shard " + text(moved.shard) + " is " + moved.address + ", epoch " +
           epoch_text(moved.epoch);
  }
  std::string text_of(const coordinator_effects::answer& answer,
                      const std::string& requester) const {
    if (!answer.result.ok()) return "refuse " + requester + ": " + answer.result.to_string();
    return "answer " + requester + ": " +
           std::visit([this](const auto& content) { return text_of(content); }, answer.value);
  }
  std::string text_of(const coordinator_effects::begin_checkpoint& begin) const {
    return "begin a checkpoint of " + begin.job;
  }
  std::string text_of(const coordinator_effects::write_manifest& write) const {
    const auto& manifest = write.manifest;
    return "write manifest " + to_string(manifest.id) + " of " + manifest.job + ": clock " +
           text(manifest.clock) + ", tables" +
           list_text(manifest.tables, [](const auto& table) { return table.name; }) +
           ", parts of shards" +
           list_text(manifest.parts, [](const auto& part) { return text(part.shard); }) +
           ", keep " + text(write.keep);
  }
  std::string text_of(const coordinator_effects::host& host) const {
    return "ask " + process_text(host.process) + " to host" +
           list_text(host.message.members, [this](const hosted_member& hosted) {
             return shard_name(hosted.shard, hosted.member.number, hosted.member.incarnation);
           });
  }
  std::string text_of(const coordinator_effects::retire& retire) const {
    return "retire " + shard_name(retire.shard, retire.member);
  }
  std::string text_of(shard_map::process idle) const { return "end " + process_text(idle); }

 private:
  std::string job_text(std::uint64_t token) const {
    const auto job = jobs_.find(token);
    return job == jobs_.end() ? "a job that is not of the cluster" : job->second;
  }
  // " shard-0@1.0": an address, and the epoch of frames there.
  static std::string upstream_text(const std::vector<std::string>& addresses,
                                   const std::vector<std::uint64_t>& epochs) {
    std::string all;
    for (std::size_t at = 0; at < std::max(addresses.size(), epochs.size()); ++at)
      all += " " + (at < addresses.size() ? addresses[at] : "?") + "@" +
             (at < epochs.size() ? epoch_text(epochs[at]) : "?");
    return all;
  }

  std::string text_of(const open_job_call& call) const {
    auto all = "open " + job_text(call.token) + ", " + to_string(call.consistency) +
               ", workers " + text(call.contributors) + " of " + text(call.workers);
    all += call.epoch == 0 ? ", no frames" : ", epoch " + epoch_text(call.epoch);
    if (!call.members.empty() && call.members.size() < call.workers)
      all += ", pushed by" + list_text(call.members);
    if (!call.workers_come_back) all += ", workers do not come back";
    if (call.replicated) all += ", replicated";
    if (call.nodes.empty()) return all;
    all += ", sums" + list_text(call.nodes, [](const rank_node& node) {
             return text(node.first) + "-" + text(node.end - 1);
           });
    return all + " as life " + text(call.incarnation) + " to" +
           upstream_text(call.upstream, call.upstream_epochs) +
           (call.upstream_moves ? " that may move" : "");
  }
  std::string text_of(const open_table_call& call) const {
    auto all = "open table " + text(call.table) + " (" + job_text(call.token) + " " +
               call.name + "), chunks" + list_text(call.places, [](const chunk_place& place) {
                 return text(place.chunk) + "@" + text(place.shard);
               });
    if (call.restore.number > 0) all += ", as in " + to_string(call.restore);
    if (call.first_clocks.empty()) return all;
    return all + ", clocks" +
           list_text(call.first_clocks, [](std::uint64_t clock) { return text(clock); });
  }
  std::string text_of(const admit_worker_call& call) const {
    return "admit rank " + text(call.rank) + " of " + job_text(call.token) + " at " +
           call.address + ", life " + text(call.incarnation) +
           (call.tables.empty() ? "" : ", tables" + list_text(call.tables)) +
           (call.finished ? ", finished" : "");
  }
  std::string text_of(const close_job_call& call) const {
    return "close " + job_text(call.token);
  }
  std::string text_of(const checkpoint_call& call) const {
    return "copy tables" + list_text(call.tables) + " of " + job_text(call.token) + " at " +
           (call.clock == clock_vector::infinity ? "the end" : "clock " + text(call.clock)) +
           " as " + to_string(call.id);
  }
  std::string text_of(const lead_call& call) const {
    return (call.address.empty() ? "lead nobody" : "lead " + call.address) + " in view " +
           text(call.view) + (call.has_all ? "" : ", hand everything over");
  }
  std::string text_of(const follow_call& call) const {
    return "follow " + call.address + " in view " + text(call.view);
  }
  std::string text_of(const promote_call& call) const {
    return "serve in view " + text(call.view) + ", epoch " + epoch_text(call.epoch);
  }
  std::string text_of(const sum_progress_call& call) const {
    return "say how far sums of " + job_text(call.token) + " are, ranks" +
           list_text(call.ranks);
  }
  std::string text_of(const shut_out_call& call) const {
    return (call.only_asks ? "say how far rank " : "shut out rank ") + text(call.rank) +
           " of " + job_text(call.token) + (call.only_asks ? " is" : "");
  }
  std::string text_of(const membership_call& call) const {
    const auto& change = call.change;
    return "change " + text(change.number) + " of " + job_text(call.token) + ": rank " +
           text(change.rank) + (change.joins ? " joins at clock " : " leaves at clock ") +
           text(change.clock) + (change.pushes_here ? "" : ", behind an aggregator");
  }
  std::string text_of(const join_barrier_call& call) const {
    return call.clock == clock_vector::infinity
               ? "hold no clock of " + job_text(call.token)
               : "hold clock " + text(call.clock) + " of " + job_text(call.token) +
                     " for rank " + text(call.rank);
  }

  std::string text_of(std::monostate) const { return "ok"; }
  std::string text_of(const worker_welcome& welcome) const {
    return "welcome to " + job_text(welcome.token) + " among " + text(welcome.workers) +
           ", clock " + text(welcome.first_clock) + "," +
           upstream_text(welcome.shard_addresses, welcome.shard_epochs) +
           (welcome.aggregated ? ", aggregated" : "") +
           (welcome.one_clock_in_flight ? ", a clock in flight" : "") +
           (welcome.replicated ? ", replicated" : "");
  }
  std::string text_of(const table_grant& grant) const {
    return "table " + text(grant.table) + " (" + grant.name + ") of " + text(grant.elements) +
           " elements, chunks" + list_text(grant.places, [](const chunk_place& place) {
             return text(place.chunk) + "@" + text(place.shard);
           });
  }

  const bool chains_;
  const std::uint32_t shards_;
  std::map<std::uint64_t, std::string> jobs_;  // names by token
};

}  // namespace tidegate::policies::tests
