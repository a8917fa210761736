// An aggregator core with one table, and what its tests do and ask of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/aggregator/core.hpp"

namespace tidegate::policies {

// Members 2, 3, 4 of a job of 8: nodes [2, 4) and [4, 5), unless told otherwise.
struct relay {
  static constexpr std::uint64_t job = 77;
  static constexpr std::uint32_t epoch = 4;
  static constexpr std::uint32_t table = 5;

  explicit relay(consistency_spec consistency, std::vector<std::uint32_t> members = {2, 3, 4},
                 std::vector<rank_node> nodes = {{2, 4}, {4, 5}}) {
    core.open_job({job,
                   epoch,
                   8,
                   consistency,
                   members,
                   std::move(nodes),
                   {epoch, epoch},
                   false,
                   1,
                   false});
    const std::vector<chunk_place> places{{0, 0, 0, 8}, {1, 1, 8, 8}};
    core.open_table(table, places);
    for (const auto rank : members)
      EXPECT_EQ(core.front().admin().admit_worker(job, rank, 1), refusal::none);
  }

  static frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint64_t request = 0,
                       std::uint32_t chunk = 0) {
    return {job, epoch, 1, rank, table, chunk, clock, request};
  }

  // Events; what follows is in `frames` (upstream) and `effects`.
  void push(std::uint32_t rank, std::uint64_t clock, payload_handle payload) {
    begin();
    core.front().push(tag(rank, clock), payload, effects);
    end();
  }
  void pull(std::uint32_t rank, std::uint64_t clock, std::uint64_t request,
            bool everything = false) {
    begin();
    core.front().pull(tag(rank, clock, request), everything, effects);
    end();
  }
  void finish(std::uint32_t rank, std::uint64_t clock) {
    begin();
    core.front().finished(tag(rank, clock), effects);
    end();
    core.say_farewell(frames);
  }
  void ack(std::uint32_t node, std::uint64_t clock, refusal code = refusal::none) {
    begin();
    core.on_ack(tag(node, clock), code, effects);
    end();
  }
  // The parameters come; returns whether they were expected.
  bool reply(std::uint64_t request, std::uint64_t version, std::uint64_t min_clock) {
    begin();
    const auto answer = tag(core.nodes().front().first, 0, request);
    const auto slot = core.expects_reply(answer);
    if (slot) plane = core.begin_reply(*slot);
    core.on_reply(answer, refusal::none, {version, min_clock, false}, effects);
    end();
    return slot.has_value();
  }
  void refuse_pull(std::uint64_t request, refusal code) {
    begin();
    core.on_reply(tag(core.nodes().front().first, 0, request), code, {}, effects);
    end();
  }

  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& effect : effects.list)
      if (const auto* entry = std::get_if<T>(&effect)) found.push_back(*entry);
    return found;
  }
  // Ranks that were acknowledged, or that were answered, with this code.
  template <class T>
  std::vector<std::uint32_t> ranks(refusal code = refusal::none) const {
    std::vector<std::uint32_t> found;
    for (const auto& entry : all<T>())
      if (entry.code == code) found.push_back(entry.tag.rank);
    return found;
  }

  void carry_out() {
    for (const auto& effect : effects.list) {
      if (const auto* sum = std::get_if<shard_effects::hand_on>(&effect))
        core.hand_on(*sum, std::span(effects.inputs).subspan(sum->first, sum->count), frames);
      if (const auto* ask = std::get_if<shard_effects::ask>(&effect)) core.ask(*ask, frames);
    }
  }

  aggregator_core core;
  shard_effects effects;
  std::vector<upstream_frame> frames;
  std::uint32_t plane = 0;  // of the last reply

 private:
  void begin() {
    effects.clear();
    frames.clear();
  }
  void end() { carry_out(); }
};

}  // namespace tidegate::policies
