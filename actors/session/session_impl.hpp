// The insides of a session, shared by the sources that implement it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/client/session_shell.hpp"
#include "actors/control/ask_coordinator.hpp"
#include "actors/control/errors.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "actors/session/device_calls.hpp"
#include "actors/session/function_calls.hpp"
#include "actors/session/range_calls.hpp"
#include "actors/session/row_calls.hpp"
#include "actors/session/session_parts.hpp"
#include "actors/session/session_state.hpp"
#include "actors/session/worker_actor.hpp"
#include "actors/store/table_memory.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "policies/worker/slow_compute.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/record_clock.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/memory/map_limit.hpp"
#include "runtime/process/fork_count.hpp"
#include "runtime/process/stall_watch.hpp"
#include <tidegate/session.hpp>

namespace tidegate::actors {

class session_impl final : private held_push {
 public:
  explicit session_impl(session_parts parts)
      : parts_(std::move(parts)),
        self_(*parts_.system),
        shell_({.give_up_ms = parts_.coordinator->may_come_back()
                                  ? parts_.environment.node.start_timeout_ms
                                  : 0}),
        state_(std::make_shared<session_state>(parts_.state, parts_.mirror)) {}
  ~session_impl() override;

  runtime::status join();
  // Ends the membership; memory stays.
  void leave();
  runtime::expected<table> open(const policies::table_request& request);
  pending start(worker_command command);
  pending command(worker_command::action kind);
  // Where a gradient lies that is pushed, if not in place: in the program's own memory, of the
  // host or the device. `checks`: see worker_command.
  struct pushed_memory {
    const float* own = nullptr;
    const float* on_device = nullptr;
    bool checks = false;
  };
  pending push(const table& where, const pushed_memory& from);
  pending pull(const table& where, std::span<float> parameters,
               policies::worker_core::extent wanted);
  pending pull(const table& where, float* into,
               policies::worker_core::extent wanted);  // null: in place
  runtime::status end_clocks();
  runtime::status finish();
  runtime::status fail(const runtime::status& why);
  std::span<const float> parameters(const table& where);
  // Waits until a push of this clock is within the credit window. Errors: those of earlier
  // pushes.
  runtime::status room();
  // Ends the clock: waits for what ends it, and for the next clock's credit where that is due.
  runtime::status move_on(const pending& ending);
  bool is_of_this_process() const { return runtime::fork_count() == forks_; }
  // Where this clock's gradients are written.
  std::span<float> gradient(const table& where);
  std::uint32_t half();
  void report_now(bool even_if_recent);
  runtime::status tell_metric(const std::string& name, double value);
  // Before a push, clock or exchange.
  runtime::status before_moving();
  // The calls of session that keep state.
  runtime::status keep(std::string_view name, std::span<const std::byte> bytes);
  runtime::expected<std::span<const std::byte>> kept(std::string_view name) const;
  runtime::status forget(std::string_view name);
  runtime::status forget_all();
  runtime::status use_older_state();
  // Returns why nothing can be kept, or ok.
  runtime::status may_keep() const;
  // Where the outcome of this clock's push goes, which may be held back.
  pending_ptr push_state();
  runtime::status check(const table& where, std::size_t elements, const char* doing) const;
  runtime::status check_finite(const table& where, std::span<const float> gradient,
                               std::uint64_t first = 0) const;  // of the table
  bool checks_finite() const {
    return shell_.core().welcome().not_finite != policies::not_finite_rule::allow;
  }

  session_parts parts_;
  runtime::arena gradients_{"tidegate-gradients", policies::gradient_halves};
  policies::mapping_budget mappings_{runtime::map_limit()};
  std::map<std::uint32_t, std::shared_ptr<table_memory>> memories_;
  // A table in several stretches, copied together as of this table_memory::number().
  struct gathered_table {
    std::uint64_t number = 0;
    std::vector<float> values;
  };
  std::map<std::uint32_t, gathered_table> gathered_;
  caf::scoped_actor self_;
  caf::actor presence_;  // as long as the coordinator knows this session
  std::unique_ptr<reactor> reactor_;
  worker_actor worker_;
  std::shared_ptr<worker_numbers> numbers_ = std::make_shared<worker_numbers>();
  job_info info_;
  session_shell shell_;
  std::shared_ptr<session_state> state_;
  std::unique_ptr<runtime::mirror_listener> mirror_;  // as long as the worker
  bool keeps_ = false;                                // something: the worker commits it
  runtime::sha256 hash_;                              // of the job's parameters
  std::string digest_;                                // once they are hashed
  std::uint64_t clock_ = 0;
  policies::double_buffer half_;
  bool pushes_own_memory_ = false;  // the program's: not what gradient() said
  const std::uint32_t forks_ = runtime::fork_count();
  bool has_left_ = false;
  bool interrupted_ = false;     // the last wait of wait() was
  std::optional<pending> room_;  // a wait for room that was interrupted
  bool lost_count_ = false;      // of its clocks: a wait for the end of one was interrupted
  std::map<std::uint32_t, std::vector<float>> nowhere_;
  progress progress_;
  std::int64_t moves_since_ = 0;  // when it first pushed, or ended a clock; 0: not yet
  std::uint64_t call_ns_ = 0;     // since then, and:
  std::uint64_t waited_before_ns_ = 0;
  std::uint64_t credit_ns_ = 0;  // of the waits
  std::uint64_t garbage_before_ns_ = 0;
  // Of the threads that use the session, one at a time.
  std::uint64_t starved_ns_ = 0;
  std::thread::id starved_thread_;  // what was read last is of this one
  std::uint64_t starved_at_ = 0;    // that
  const std::shared_ptr<runtime::stall_watch> stalls_ = runtime::stall_watch::of_process();
  policies::slow_compute slow_{parts_.environment.slow_factor, parts_.environment.slow_from,
                               parts_.environment.slow_until};
  float rate_ = 1.0F;  // session::scale_learning_rate()
  device_calls device_{*this};
  range_calls ranges_{*this};
  function_calls functions_{*this};
  row_calls rows_{*this};
  // Errors: out_of_order (a forked process, or the session has ended).
  runtime::status check_usable() const;

 private:
  std::int64_t now();
  runtime::status wait(const pending& operation);
  // Has the worker commit state from now on.
  runtime::status begin_to_keep();
  void release(std::uint64_t clock) override;
  // An operation, from its first turn, which `begin` returns, to its end; only where this
  // session may be used.
  template <class Begin>
  policies::session_step carry_out(const Begin& begin) {
    policies::session_step refused;
    if (refused.result = check_usable(); !refused.result.ok()) return refused;
    return take_turns(begin());
  }
  policies::session_step take_turns(session_turn turn);
  runtime::status perform(const session_turn& turn, policies::session_answer& answer);
  runtime::status attach(const policies::table_grant& grant);
  // Drives until `done`, or nothing is left to do.
  template <class Done>
  void look_until(const Done& done);
  // A question to the coordinator, once; a T that is no done_atom becomes the answer.
  template <class T, class... Ts>
  runtime::status ask(const std::string& doing, policies::session_answer& answer,
                      const Ts&... xs);
  policies::worker_progress numbers_now();
  policies::worker_times times_now() const;
  policies::process_pressure pressure_now();
  // Pauses where the run wants this worker slow. Errors: cancelled (the pause was interrupted).
  runtime::status compute_longer();
};

template <class T, class... Ts>
runtime::status session_impl::ask(const std::string& doing, policies::session_answer& answer,
                                  const Ts&... xs) {
  // An answer that comes after an interrupt goes with who asked.
  caf::scoped_actor self(*parts_.system);
  auto reply = ask_unless<T>(parts_.interrupted, self, parts_.coordinator->now(), no_limit,
                             doing, xs...);
  if (!reply) return reply.error();
  if constexpr (!std::is_same_v<T, done_atom>) answer = std::move(*reply);
  return {};
}

}  // namespace tidegate::actors
