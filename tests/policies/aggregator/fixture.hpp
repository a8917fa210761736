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
    core.open_job({.token = job,
                   .epoch = epoch,
                   .workers = 8,
                   .consistency = consistency,
                   .members = members,
                   .nodes = std::move(nodes),
                   .upstream_epochs = {epoch, epoch},
                   .workers_come_back = false,
                   .incarnation = 1,
                   .upstream_moves = false});
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                          {.chunk = 1, .shard = 1, .first = 8, .elements = 8}};
    core.open_table(table, places);
    for (const auto rank : members)
      EXPECT_EQ(core.ingress().admin().admit_worker(job, rank, 1), reply_code::ok);
  }

  static frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint64_t request = 0,
                       std::uint32_t chunk = 0) {
    return {.job = job,
            .epoch = epoch,
            .incarnation = 1,
            .rank = rank,
            .table = table,
            .chunk = chunk,
            .clock = clock,
            .request = request};
  }

  // Events; what follows is in `frames` (upstream) and `effects`.
  void push(std::uint32_t rank, std::uint64_t clock, payload_handle payload,
            float rate = 1.0F) {
    begin();
    auto pushed = tag(rank, clock);
    pushed.rate = rate;
    core.ingress().push(pushed, payload, effects);
    end();
  }
  void pull(std::uint32_t rank, std::uint64_t clock, std::uint64_t request,
            bool is_final = false) {
    begin();
    core.ingress().pull(tag(rank, clock, request), is_final, effects);
    end();
  }
  void finish(std::uint32_t rank, std::uint64_t clock) {
    begin();
    core.ingress().finished(tag(rank, clock), effects);
    end();
    core.say_farewell(frames);
  }
  void ack(std::uint32_t node, std::uint64_t clock, reply_code code = reply_code::ok) {
    begin();
    core.on_ack(tag(node, clock), code, effects);
    end();
  }
  // The parameters come; returns whether they were expected.
  bool reply(std::uint64_t request, std::uint64_t version, std::uint64_t min_clock) {
    begin();
    const auto answer = tag(core.nodes().front().first, 0, request);
    const auto slot = core.expects_reply(answer);
    if (slot) version_buffer = core.begin_reply(*slot);
    core.on_reply(answer, reply_code::ok,
                  {.version = version, .min_clock = min_clock, .applied = false}, effects);
    end();
    return slot.has_value();
  }
  void refuse_pull(std::uint64_t request, reply_code code) {
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
  std::vector<std::uint32_t> ranks(reply_code code = reply_code::ok) const {
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
  std::uint32_t version_buffer = 0;  // of the last reply

 private:
  void begin() {
    effects.clear();
    frames.clear();
  }
  void end() { carry_out(); }
};

}  // namespace tidegate::policies
