// What a simulated worker keeps: memory that its host's agent owns, a program that changes what
// it keeps with every clock, and the check that a process which takes the place of another
// finds the state of exactly its clock. What is kept follows from the rank, the clocks and the
// epochs in which the worker came to them, so that the state of another clock or epoch, or a
// torn version, shows. One thread.
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
#include "policies/protocol/agent_messages.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/worker/kept_state.hpp"
#include "policies/worker/state_port.hpp"

namespace tidegate::sim {

// The memory as a process sees it. A process that the plan has die in a commit dies in the
// middle of a write; what it does after that changes nothing.
class kept_memory final : public runtime::state_memory {
 public:
  kept_memory(world& where, process_id owner, kept_bytes bytes)
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
  kept_bytes bytes_;
  std::optional<std::uint64_t> left_;
};

// As the worker's agent sees it.
class agents_memory final : public runtime::state_memory {
 public:
  explicit agents_memory(kept_bytes bytes) : bytes_(std::move(bytes)) {}

  std::span<const std::byte> bytes() const override { return *bytes_; }
  runtime::status reserve(std::size_t, std::size_t) override { return {}; }
  void write(std::size_t offset, std::span<const std::byte> bytes) override;
  void store(std::size_t offset, std::uint64_t word) override;

 private:
  kept_bytes bytes_;
};

// Returns the memory that a process gets which is about to be started: `before`, or new memory
// with what was copied elsewhere.
kept_bytes prepare_memory(const policies::agent_orders::start& start, kept_bytes before,
                          bool is_mirrored);
// Returns what a worker asks to be copied of it.
policies::state_image image_of(const kept_bytes& memory, std::uint64_t version);

class worker_keeping final : public policies::state_port {
 public:
  struct options {
    std::optional<std::uint64_t>
        first;                       // clock at which the program keeps anything; none: never
    std::uint64_t mirror_every = 0;  // jobs.*.state.mirror_every
  };
  // `owner`: the worker's process. Both outlive it.
  worker_keeping(world& where, const process& owner, std::uint32_t rank, const options& set)
      : world_(where), owner_(owner), rank_(rank), options_(set) {}

  // The worker joins its job anew: of what it was nothing counts.
  static void begin_anew(world& where, const std::string& name) { where.kept[name] = {}; }
  // It begins where nothing is that it has kept.
  static void moves(world& where, const std::string& name) {
    where.kept[name].has_moved = true;
  }
  // The worker has memory. To be called before all that follow.
  void use(kept_bytes memory) { bytes_ = std::move(memory); }
  // The worker has been let in: checks what it finds.
  void enter(const policies::worker_welcome& welcome);
  // Returns true if the program is to keep something at this clock.
  bool is_due(std::uint64_t clock) const { return options_.first && clock >= begun_; }
  // Returns true once something is kept: the worker core knows that it commits.
  bool is_used() const { return kept_ && kept_->is_used(); }
  // The program keeps what is the state of the clock after this one.
  void keep(std::uint64_t clock);
  std::uint64_t mirror_every() const override { return options_.mirror_every; }
  bool commit(std::uint64_t version) override;
  void mirror(const runtime::mirror_request& request) override;

 private:
  using entries = std::map<std::string, std::string>;

  void fail(const std::string& message) const {
    world_.check.fail("state of the clock", owner_.name() + ": " + message);
  }
  // What is kept at the beginning of a clock, if the program began to at `begun`.
  entries expected(std::uint64_t begun, std::uint64_t clock) const;
  entries found() const;
  void check(const policies::worker_welcome& welcome);
  // Returns true if the worker may have kept something by this clock.
  bool has_begun(std::uint64_t clock) const;
  // Returns from which clock on it has kept what is found at this one; nothing: that is no
  // state of this clock.
  std::optional<std::uint64_t> begun_of_found(std::uint64_t clock) const;
  // Returns true if the state of this clock may be lost with a host, as it was not copied.
  bool may_be_lost(std::uint64_t clock) const;

  world& world_;
  const process& owner_;
  std::uint32_t rank_;
  options options_;
  kept_bytes bytes_;
  std::uint64_t begun_ = 0;
  std::optional<kept_memory> memory_;
  std::optional<policies::kept_state> kept_;
};

}  // namespace tidegate::sim
