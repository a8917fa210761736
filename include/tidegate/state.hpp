// State of a worker that outlives its process: named bytes in memory of its host, which the
// session commits with each clock. A process that takes the place of one that died finds the
// state of exactly the clock session::now() where it goes on, wherever that one was killed.
// Up to jobs.*.state.max bytes, with names and 16 bytes or so per name.
//
// While a worker keeps anything, the push of a clock that is the last, as every other table has
// its own, leaves with clock(); after a resume all pushes of a clock do. Or they leave when a
// push of the clock is waited for: where every table has its push, that commits, and nothing
// can be kept after it until clock().
//
// Where the worker's host is lost, state is lost with it, unless it was copied to the launcher
// (jobs.*.state.mirror_every).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tidegate/status.hpp>

namespace tidegate {

namespace actors {
class session_impl;
}

// The state of a session's worker: a handle, valid as long as the session, of its thread.
class worker_state {
 public:
  // Keeps a copy of these bytes under this name, 1 to 128 bytes, until it is kept again or
  // forgotten. Errors: invalid_argument (name), over_limit, no_space, out_of_order (a push of
  // this clock has left, and nothing was kept before: begin before the first push; or one was
  // waited for), unavailable (the worker's job has no state, its descriptor did not come
  // through, or the state is lost: see is_lost()); nothing is changed then.
  status keep(std::string_view name, std::span<const std::byte> bytes);
  // Returns what is kept under this name, what was kept in this clock included; valid until it
  // is kept again or forgotten. Errors: not_found, unavailable (as keep()).
  expected<std::span<const std::byte>> kept(std::string_view name) const;
  // Returns the names of all that is kept, sorted. Errors: unavailable (as keep()).
  expected<std::vector<std::string>> names() const;
  // Keep nothing under this name any more, or nothing at all. Errors: as keep(); a name that
  // is not there is no error.
  status forget(std::string_view name);
  status forget_all();

  // Returns true if this worker may have had state, and that of session::now() is not there:
  // the job has gone back to a checkpoint of many clocks ago, `launch --resume` went on with
  // it, or the worker's host was lost with versions that were not copied. keep(), kept() and
  // forget() fail then, until forget_all() begins with no state, or use_older() with an older
  // one.
  bool is_lost() const;
  // Returns the clock of the newest state that was copied before the host was lost, where that
  // of session::now() is lost for it; nothing otherwise.
  std::optional<std::uint64_t> older() const;
  // Goes on with that state. Errors: not_found (nothing was copied), out_of_order, unavailable
  // (as keep()).
  status use_older();

 private:
  friend class session;
  explicit worker_state(actors::session_impl& of) noexcept : of_(&of) {}

  actors::session_impl* of_;
};

}  // namespace tidegate
