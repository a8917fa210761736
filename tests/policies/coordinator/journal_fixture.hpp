// A coordinator with a journal, and its successors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {

inline cluster_spec two_jobs(bool checkpoints = false) {
  cluster_spec spec;
  spec.name = "c";
  spec.shards = 2;
  spec.chunk_bytes = 64;
  for (const auto* name : {"a", "b"}) {
    job_spec job;
    job.name = name;
    job.workers = 2;
    table_spec declared;
    declared.name = "w";
    declared.shape = {40};
    job.tables.push_back(declared);
    if (checkpoints)
      job.checkpoint = checkpoint_spec{.every_clocks = 10, .every_ms = 0, .keep = 1};
    spec.jobs.push_back(job);
  }
  return spec;
}

inline table_request a_table(const std::string& job, const std::string& name,
                             std::uint64_t size) {
  table_request request;
  request.job = job;
  request.spec.name = name;
  request.spec.shape = {size};
  return request;
}

// The journal, and the process that writes it.
class coordinator_journal_test : public testing::Test {
 protected:
  explicit coordinator_journal_test(bool checkpoints = false)
      : spec(two_jobs(checkpoints)), core(std::make_unique<coordinator_core>(spec, 99)) {
    core->begin(1, out);
  }

  void keep() {
    for (const auto& record : out.records) {
      const auto entry = encode(record);
      journal[entry.key] = entry.value;
    }
    out.records.clear();
  }
  std::vector<runtime::journal_entry> entries() const {
    std::vector<runtime::journal_entry> all;
    for (const auto& [key, value] : journal) all.push_back({key, value});
    return all;
  }
  // What was recorded is there; what was asked and not answered is gone.
  void die() {
    keep();
    out = {};
    auto before = decode_journal(spec, entries());
    ASSERT_TRUE(before) << before.error().to_string();
    core = std::make_unique<coordinator_core>(spec, 99, restored_cluster(), *before,
                                              ++incarnation);
    core->begin(2, out);
  }
  void answer_calls(std::uint64_t answer = 0) {
    while (!out.calls.empty())
      for (const auto& call : std::exchange(out.calls, {}))
        core->call_done(1, call.call, {}, out, answer);
  }
  void join_shards() {
    core->shard_joined(1, 0, "s0", 1, out);
    core->shard_joined(1, 1, "s1", 2, out);
  }
  coordinator_effects::answer answer_to(ticket requester) {
    for (const auto& entry : out.answers)
      if (entry.to == requester) return entry;
    ADD_FAILURE() << "nothing was said to " << requester;
    return {};
  }
  void join_worker(const std::string& job, std::uint32_t rank, std::uint32_t incarnation = 1) {
    core->worker_joined(1,
                        {.job = job,
                         .rank = rank,
                         .incarnation = incarnation,
                         .address = job + std::to_string(rank)},
                        50, out);
    answer_calls();
  }
  std::map<std::string, table_grant> grants(const std::string& job) const {
    std::map<std::string, table_grant> all;
    for (const auto& entry : core->tables(job)) all[entry.name] = entry;
    return all;
  }
  std::uint64_t open_calls(std::uint32_t shard) const {
    return static_cast<std::uint64_t>(
        std::count_if(out.calls.begin(), out.calls.end(), [&](const auto& call) {
          return call.shard == shard && std::holds_alternative<open_table_call>(call.message);
        }));
  }

  cluster_spec spec;
  std::map<std::string, std::string> journal;
  std::unique_ptr<coordinator_core> core;
  coordinator_effects out;
  std::uint32_t incarnation = 1;
};

}  // namespace tidegate::policies
