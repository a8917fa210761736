// The state that a worker's program keeps beside the parameters: named bytes, which become part
// of a version with each clock that ends (state_versions.hpp), and that a process which takes
// the place of a dead one finds as they were at the clock where it resumes.
//
// Bytes may be set until the last push of a clock has left: after that a successor may resume
// at the next clock, so that its version must not change any more. Pure. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/worker/state_versions.hpp"
#include "runtime/base/state_memory.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

class kept_state {
 public:
  // A session without memory: every call that needs it fails with `why`.
  explicit kept_state(runtime::status why) : missing_(std::move(why)) {}
  // `memory` outlives this. `version_bytes`: what the versions of this memory may take, which
  // bounds what the program keeps.
  kept_state(runtime::state_memory& memory, std::size_t version_bytes)
      : versions_(std::in_place, memory, version_bytes) {}

  // Takes in where the worker goes on. To be called once, before all that follow.
  void resume(std::uint32_t epoch, std::uint64_t clock);

  // Returns ok, or why nothing can be kept. Errors: unavailable (there is no memory, or the
  // state of the clock where the worker goes on is lost; clear() begins anew then).
  runtime::status usable() const;
  // Returns true if the state of the clock where the worker goes on is not there.
  bool is_lost() const noexcept { return is_lost_; }
  // Returns the clock of an older state that is there in its place, if one is: of the versions
  // of a lost host, not all were copied (jobs.*.state.mirror_every).
  std::optional<std::uint64_t> older_clock() const;
  // Goes on with that one. Errors: not_found (nothing was copied), out_of_order (as keep()).
  runtime::status use_older(std::uint64_t clock);
  // Returns true once there is anything to commit: from then on every clock commits.
  bool is_used() const noexcept { return is_used_; }

  // Keep these bytes under this name, or forget them; `clock`: the worker's. Errors: those of
  // usable(), invalid_argument (the name is empty or longer than limits::name_bytes_max),
  // out_of_order (the last push of this clock has left), over_limit (the state would take more
  // than the job allows), no_space; nothing has changed then.
  runtime::status keep(std::string_view name, std::span<const std::byte> bytes,
                       std::uint64_t clock);
  runtime::status forget(std::string_view name, std::uint64_t clock);
  // Forgets everything, lost or not. Errors: as keep().
  runtime::status clear(std::uint64_t clock);

  // Returns what is kept under this name, as set last, or nothing; valid until it is set again
  // or forgotten.
  std::optional<std::span<const std::byte>> kept(std::string_view name) const;
  // Returns all names, in their order; valid likewise.
  std::vector<std::string_view> names() const;

  // Writes the version of this clock; returns false if there is nothing to commit. worker_core
  // says when.
  bool commit(std::uint64_t version);

 private:
  using entries = std::map<std::string, std::vector<std::byte>, std::less<>>;

  runtime::status may_change(std::uint64_t clock) const;
  void read(std::span<const std::byte> version);

  runtime::status missing_;
  std::optional<state_versions> versions_;
  entries entries_;
  std::size_t bytes_ = 0;        // of a version with these entries
  std::size_t reserved_ = 0;     // bytes of a version that there is room for
  std::uint64_t clock_ = 0;      // where the worker went on
  std::uint64_t committed_ = 0;  // the last version
  bool is_lost_ = false;
  bool is_used_ = false;
};

}  // namespace tidegate::policies
