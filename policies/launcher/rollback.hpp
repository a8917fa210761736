// The way back to the last checkpoints: everything is ended and begins again, in the next
// epoch. An epoch begins only after it is durably on record (launch_effects::renew).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/restarts.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class rollback {
 public:
  explicit rollback(launcher_state& state);

  // Returns the pause, in nanoseconds, before all go back, when a process has died too often to
  // come back alone, the coordinator above all. Returns nothing if all have gone back too often
  // lately.
  std::optional<std::int64_t> pause_after_death(std::int64_t at, const restart_spec& limits) {
    return goings_back_.died(at, limits);
  }
  // Kills all processes. The next epoch begins at `at` or later.
  void begin(std::int64_t at, const std::string& why, launch_effects& out);
  // Asks for the next epoch if no process lives and its time has come.
  void go_on(std::int64_t now, launch_effects& out);
  // launch_core::renewed().
  void renewed(std::int64_t now, const runtime::status& result, launch_effects& out);

  std::uint32_t epoch() const noexcept { return epoch_; }
  std::int64_t next_wake() const;

 private:
  void wait_for_record(std::int64_t now, const runtime::status& failure, launch_effects& out);

  launcher_state& state_;
  std::uint32_t epoch_;
  restart_intensity goings_back_;    // for a coordinator that dies too often
  restart_intensity failed_epochs_;  // that could not be put on record
  std::int64_t back_at_ = never;     // clearing: not before
};

}  // namespace tidegate::policies::launching
