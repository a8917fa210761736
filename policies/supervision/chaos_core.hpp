// Kills on purpose: which process of a run is hit next, when, and how.
//
// All is drawn from a seed, apart for each hit: the k-th hit of a seed comes after the same
// pause and does the same, whatever happened before. Whom it strikes depends on who lives then,
// too. Time is an argument, in nanoseconds of a clock that never goes back. One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/model/fault_spec.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies {

// An incarnation of a process. A pid may be used again, a pid with the time of its start is
// not.
struct chaos_target {
  process_name name;
  int pid = -1;
  std::uint64_t started = 0;  // what the kernel calls starttime, in ticks since boot
  friend bool operator==(const chaos_target&, const chaos_target&) = default;
};

// A hit that the caller is to carry out now.
struct chaos_order {
  chaos_choice choice;
  chaos_target target;  // where choice.hits_process()
  std::string host;     // where choice.hits_host()
};

class chaos_core {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  // How soon to look again while nobody is there to be hit.
  static constexpr std::int64_t look_again_ns = 10'000'000;

  chaos_core(chaos_plan plan, std::int64_t now);

  // Returns when wake() is due next; `never` when all is done.
  std::int64_t next_wake() const noexcept;
  // Appends the hits that are due, to be carried out in their order. `living` are all processes
  // of the run, in any order.
  void wake(std::int64_t now, std::span<const chaos_target> living,
            std::vector<chaos_order>& out);
  // Orders a hit of this process that was not drawn, and is not counted.
  void strike(std::int64_t now, const chaos_target& target, const chaos_choice& choice,
              std::vector<chaos_order>& out);
  // Returns true if the process was killed by a hit and was still among the living at the last
  // wake().
  bool is_dying(const chaos_target& target) const;
  // Takes back a hit that was ordered: its process had gone, and it does not count.
  void missed(const chaos_target& target);
  // Ends the hits. Orders that stopped processes go on at once.
  void end(std::vector<chaos_order>& out);

  bool done() const noexcept { return over_ && stopped_.empty(); }
  std::uint64_t hits() const noexcept { return hits_; }

 private:
  struct stopped_one {
    chaos_target target;
    std::int64_t until = 0;
  };

  void draw(std::int64_t now);
  void let_go_on(std::int64_t now, std::vector<chaos_order>& out);
  bool may_hit(const chaos_target& target) const;
  void count_hit(std::int64_t now);
  bool is_stopped(const chaos_target& target) const;

  chaos_plan plan_;
  std::int64_t end_;
  std::uint64_t step_ = 0;
  std::uint64_t hits_ = 0;
  bool over_ = false;
  std::int64_t next_hit_ = 0;
  chaos_choice choice_;               // of the next hit
  std::uint64_t pick_ = 0;            // of the next hit: a draw, used modulo who lives
  std::vector<chaos_target> killed_;  // and still to be seen, as the dying are for a moment
  std::vector<stopped_one> stopped_;
};

// Returns a process of that role, drawn from `seed`; nothing if no process of that role lives.
// The order of `living` makes no difference.
std::optional<chaos_target> choose_target(std::span<const chaos_target> living,
                                          process_role role, std::uint64_t seed);

}  // namespace tidegate::policies
