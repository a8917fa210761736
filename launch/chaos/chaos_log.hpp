// What `tidegate chaos` does to a run, noted where its owner looks: a line each in
// RUN_DIR/chaos.jsonl, in the run's own events.jsonl, and on stdout. Main thread only.
#pragma once

#include <string>

#include "launch/run/event_log.hpp"
#include "policies/supervision/chaos_core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// Lines of several writers take turns.
class chaos_log {
 public:
  explicit chaos_log(const std::string& run_dir);

  // Errors: io_error.
  runtime::status append(std::int64_t unix_ns, const std::string& subject,
                         const std::string& detail);

 private:
  runtime::expected<launch::event_log> chaos_;
  runtime::expected<launch::event_log> run_;
};

// Sends, and notes it with the time before: what follows from it comes later. Errors: of
// send_signal, and io_error.
runtime::status strike(const policies::chaos_target& target, const std::string& subject,
                       int signal, chaos_log& log);

}  // namespace tidegate::chaos
