// What a simulated worker keeps: memory that its launcher owns, a program that changes what it
// keeps with every clock, and the check that a process which takes the place of another finds
// the state of exactly its clock. What is kept follows from rank and clock, so that the state
// of another clock, or a torn version, shows. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/simulate/cluster/process.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/worker/kept_state.hpp"

namespace tidegate::sim {

// The memory as a process sees it. A process that the plan has die in a commit dies in the
// middle of a write; what it does after that changes nothing.
class kept_memory final : public policies::state_memory {
 public:
  kept_memory(world& where, process_id owner, std::shared_ptr<std::vector<std::byte>> bytes)
      : world_(where), owner_(owner), bytes_(std::move(bytes)) {}

  std::span<const std::byte> bytes() const override { return *bytes_; }
  runtime::status reserve(std::size_t, std::size_t) override { return {}; }
  void write(std::size_t offset, std::span<const std::byte> bytes) override;
  void store(std::size_t offset, std::uint64_t word) override;
  // The owner dies when it has written so many bytes more.
  void die_after(std::uint64_t bytes) { left_ = bytes; }

 private:
  // How many of these bytes still get there.
  std::size_t survive(std::size_t bytes);

  world& world_;
  process_id owner_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::optional<std::uint64_t> left_;
};

class worker_keeping {
 public:
  // `owner`: the worker's process. Both outlive it. `first`: the clock from which on the
  // program keeps anything; none: it never does.
  worker_keeping(world& where, const process& owner, std::uint32_t rank,
                 std::optional<std::uint64_t> first);
  // A launcher is about to start a process of this name, which perhaps joins its job anew.
  static void prepare(world& where, const std::string& name, std::uint32_t epoch, bool joins);

  // The worker has been let in: checks what it finds.
  void enter(const policies::worker_welcome& welcome);
  // Returns true if the program is to keep something at this clock.
  bool is_due(std::uint64_t clock) const { return first_ && clock >= begun_; }
  // Returns true once something is kept: the worker core knows that it commits.
  bool is_used() const { return kept_ && kept_->is_used(); }
  // The program keeps what is the state of the clock after this one.
  void keep(std::uint64_t clock);
  void commit(std::uint64_t version);

 private:
  using entries = std::map<std::string, std::string>;

  void fail(const std::string& message) const {
    world_.check.fail("state of the clock", owner_.name() + ": " + message);
  }
  // What is kept at the beginning of a clock, if the program began to at `begun_`.
  entries expected(std::uint64_t clock) const;
  entries found() const;
  void check(const policies::worker_welcome& welcome);

  world& world_;
  const process& owner_;
  std::uint32_t rank_;
  std::optional<std::uint64_t> first_;
  std::uint64_t begun_ = 0;
  std::optional<kept_memory> memory_;
  std::optional<policies::kept_state> kept_;
};

}  // namespace tidegate::sim
