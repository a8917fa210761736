// The door of the coordinator's control port: a thread that accepts connections, has each prove
// the run's token (policies/protocol/connection_gate.hpp decides), and hands on those that
// have. Nobody else reads a byte of a stranger. No CAF in sight.
//
// open(), take() and the destructor from any thread; the others are the gate's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "actors/control/connection.hpp"
#include "policies/protocol/connection_gate.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::actors {

class control_gate {
 public:
  // Starts to accept at `listener`, which does not block. Errors: io_error.
  static runtime::expected<std::unique_ptr<control_gate>> open(
      runtime::unique_fd listener, const control_options& options,
      const policies::gate_limits& limits = {});
  control_gate(const control_gate&) = delete;
  control_gate& operator=(const control_gate&) = delete;
  // Closes the port. Whoever has the end to take() from still finds what was proven before.
  ~control_gate();

  // The end to take() from, readable when there is somebody; it belongs to the caller. Once.
  int release_proven() noexcept { return proven_.release(); }
  // A proven connection, which does not block, from the end that release_proven() gave; empty:
  // there is no such connection.
  static runtime::unique_fd take(int proven) noexcept;

 private:
  control_gate(runtime::unique_fd listener, const control_options& options,
               const policies::gate_limits& limits);
  runtime::status prepare();
  void run();
  void accept_some();
  void greet(runtime::unique_fd accepted);
  void hear(policies::connection_gate::slot from);
  void close(policies::connection_gate::slot leaves);
  void unwatch(const runtime::unique_fd& connection);
  void hand_on(runtime::unique_fd connection, const runtime::digest& confirmation);
  void watch_listener(bool watched);
  void expire();
  void report(std::int64_t now);
  int wait_ms() const;

  control_options options_;
  policies::connection_gate core_;
  runtime::unique_fd listener_;
  runtime::unique_fd wake_;  // readable: the thread is to end
  runtime::unique_fd events_;
  runtime::unique_fd proven_;                  // until it is released
  runtime::unique_fd handed_;                  // the other end
  std::vector<runtime::unique_fd> strangers_;  // by their slot
  std::vector<policies::connection_gate::slot> late_;
  bool listener_watched_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tidegate::actors
