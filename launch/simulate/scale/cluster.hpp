// The cluster of model.hpp while it runs. Internal to it. One thread.
//
// A passage is known when a stage has been entered, which may be before its time; what it leads
// to is planned for the moment when its first chunk is there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "launch/simulate/cluster/schedule.hpp"
#include "launch/simulate/scale/costs.hpp"
#include "launch/simulate/scale/model.hpp"
#include "launch/simulate/scale/stage.hpp"
#include "launch/simulate/scale/topology.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/consistency/relay.hpp"

namespace tidegate::sim::scale {

// When all gradients of a clock are there, for the few clocks that are under way.
class clock_inputs {
 public:
  void add(std::uint64_t clock, const passage& way) {
    auto& slot = slots_[clock % slots_.size()];
    slot = slot.clock == clock ? one_clock{clock, later(slot.way, way)} : one_clock{clock, way};
  }
  const passage& of(std::uint64_t clock) const { return slots_[clock % slots_.size()].way; }

 private:
  struct one_clock {
    std::uint64_t clock = ~std::uint64_t{0};
    passage way;
  };
  std::array<one_clock, 4> slots_;
};

inline passage through(stage& where, const passage& way, const cost& of) noexcept {
  return where.pass(way, of.work, of.piece);
}

class cluster {
 public:
  cluster(const setting& combination, const compute_function& compute);

  outcome run();

 private:
  struct worker {
    std::uint64_t clock = 0;
    double computing = 0;  // seconds of this clock
    double computed = 0;   // the moment
    double answered = 0;
    double settled = 0;  // when its push was acknowledged
    bool is_answered = false;
    bool is_settled = false;
    passage way;  // of the push or reply under way
    double busy = 0;
    double done = 0;
  };
  struct relay {
    std::unique_ptr<policies::relay_policy> policy;
    stage cpu;
    clock_inputs inputs;
    std::vector<double> arrived;                    // by member: its last push
    passage ready;                                  // the parameters that it has
    std::array<std::uint32_t, 4> unacknowledged{};  // nodes, by clock
    double workers = 0;                             // below it
  };
  struct link {
    stage out;
    stage in;
  };
  // A frame or two to where a sum is handed on.
  struct upward {
    std::optional<std::uint64_t> push;
    std::optional<std::uint64_t> pull;
    passage way;
  };

  // cluster.cpp: workers and the shard.
  void at(double when, schedule::action action);
  void begin_clock(std::uint32_t rank, double from);
  void push(std::uint32_t rank);
  void arrived(std::uint32_t rank);
  void delivered(std::uint32_t rank);
  void answered(std::uint32_t rank, double when);
  void settled(std::uint32_t rank, double when);
  void finish(std::uint32_t rank);
  passage into_shard(const passage& way);
  void pushed_to_shard(std::uint32_t member, std::uint64_t clock, const passage& way);
  void pulled_from_shard(std::uint32_t member, std::uint64_t clock, const passage& way);
  void carry_out_at_shard(const passage& way);
  void apply_clock(std::uint64_t clock);
  void answer_from_shard(const passage& way);
  void acknowledge(const source& member, std::uint64_t clock, double when);
  bool is_beside(std::uint32_t host, const uplink& up) const;
  double workers_of(const source& member) const;
  outcome summary() const;

  // cluster_relays.cpp: aggregators.
  void open_relays();
  passage into_relay(std::uint32_t at, std::uint32_t from_host, const passage& way);
  void pushed_to_relay(std::uint32_t at, std::uint32_t member, std::uint64_t clock,
                       const passage& way);
  void pulled_from_relay(std::uint32_t at, std::uint32_t member, std::uint64_t clock,
                         const passage& way);
  void carry_out_at_relay(std::uint32_t at, const passage& way);
  void hand_on(std::uint32_t at, std::uint64_t clock, const passage& way, upward& out);
  void settle(std::uint32_t at, std::uint64_t clock, double when);
  void answer_from_relay(std::uint32_t at, const passage& way);
  void send_up(std::uint32_t at, std::uint32_t node, upward sum);
  void came_up(std::uint32_t at, std::uint32_t node, const upward& sum);
  void reply_to_relay(std::uint32_t at, std::uint64_t clock, std::uint64_t min_clock,
                      const passage& way);
  void node_acknowledged(std::uint32_t at, std::uint64_t clock, double when);

  const setting combination_;
  const compute_function& compute_;
  const topology topology_;
  const costs costs_;
  schedule time_;
  std::vector<worker> workers_;
  std::vector<relay> relays_;
  std::vector<link> links_;  // by host

  // The shard.
  std::unique_ptr<policies::consistency_policy> policy_;
  stage shard_in_;
  stage shard_cpu_;
  stage shard_out_;
  clock_inputs inputs_;
  passage applied_;                   // the last step
  std::vector<double> parked_since_;  // by member
  policies::policy_decisions decisions_;
  std::vector<policies::policy_decision> answers_;

  staleness_counts staleness_;
  double parked_ = 0;  // worker seconds
  std::uint64_t wanted_ = 0;
  std::uint64_t completed_ = 0;
  double end_ = 0;
};

}  // namespace tidegate::sim::scale
