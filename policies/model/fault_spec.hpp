// What is to go wrong in a run on purpose, as its owner has asked for it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/model/process_name.hpp"

namespace tidegate::policies {

// Acts on a process: kill, stop, go_on. On a host: partition cuts it off from the others, heal
// ends that. On the disk of the run folder: fill makes it full for a while.
enum class chaos_act : std::uint8_t { kill, stop, go_on, partition, heal, fill };

struct chaos_choice {
  chaos_act act = chaos_act::kill;
  std::uint64_t for_ms = 0;  // stop, partition (0: until it is healed), fill

  bool hits_process() const noexcept {
    return act == chaos_act::kill || act == chaos_act::stop || act == chaos_act::go_on;
  }
  bool hits_host() const noexcept {
    return act == chaos_act::partition || act == chaos_act::heal;
  }
  friend bool operator==(const chaos_choice&, const chaos_choice&) = default;
};

// Hits that are drawn.
struct chaos_plan {
  std::uint64_t seed = 1;
  std::uint64_t pause_first_ms = 200;  // between hits: from first to last, both included
  std::uint64_t pause_last_ms = 2000;
  std::vector<process_role> roles = {process_role::worker};
  std::vector<chaos_choice> actions = {{}};  // never empty
  std::vector<std::string> hosts;            // that may be cut off
  std::uint64_t hits_max = 0;                // 0: no limit
  std::uint64_t for_ms = 0;                  // 0: no limit

  friend bool operator==(const chaos_plan&, const chaos_plan&) = default;
};

// One hit: when the slowest worker of some job is at that clock, or so long after the launch.
struct timed_fault {
  std::optional<std::uint64_t> clock;
  std::uint64_t after_ms = 0;
  std::string target;  // a process (process_name::to_string) or a host; empty for the disk
  chaos_choice choice;

  friend bool operator==(const timed_fault&, const timed_fault&) = default;
};

// Faults of frames between processes; shares of all frames, in [0, 1].
struct link_fault_spec {
  float drop = 0;
  float duplicate = 0;
  float delay = 0;
  std::uint32_t delay_ms_max = 20;

  bool any() const noexcept { return drop > 0 || duplicate > 0 || delay > 0; }
  friend bool operator==(const link_fault_spec&, const link_fault_spec&) = default;
};

// A process that is slower than the others, in all its incarnations.
struct slow_fault {
  std::string process;  // process_name::to_string
  // How many times as long a worker computes, from its clock `from` on and before `until`.
  float factor = 1;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> until;
  std::uint32_t link_delay_ms = 0;  // of each frame that it sends, as long as it runs
  std::uint32_t disk_delay_ms = 0;  // of each part of a checkpoint that a shard writes

  friend bool operator==(const slow_fault&, const slow_fault&) = default;
};

struct fault_spec {
  std::uint64_t seed = 1;  // of all draws; that of `random` is not used
  link_fault_spec link;
  std::vector<slow_fault> slow;
  std::optional<chaos_plan> random;
  std::vector<timed_fault> timed;

  bool hits() const noexcept { return random || !timed.empty(); }
  bool any() const noexcept { return hits() || link.any() || !slow.empty(); }
  // Returns the fault of that process, or null; valid as long as this.
  const slow_fault* slow_of(std::string_view process) const noexcept {
    for (const auto& fault : slow)
      if (fault.process == process) return &fault;
    return nullptr;
  }
  friend bool operator==(const fault_spec&, const fault_spec&) = default;
};

}  // namespace tidegate::policies
