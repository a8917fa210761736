// `tidegate export`: the tables of a job, from the newest checkpoint of a run that is whole, as
// one safetensors file. Reads the run folder only, also while the run goes on. Main thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct export_options {
  std::string run_dir;
  std::string job;              // empty: the only one that has checkpoints
  std::string output;           // file; replaced as a whole
  std::string checkpoint = {};  // as list_checkpoints shows it; empty: the newest that is whole
  // Of tables of rows only those that were pushed in this clock or later, with the ids of the
  // others that are still there.
  std::optional<std::uint64_t> since = std::nullopt;
};

// Says on `out` what it has written, and on `problems`, a line each, which newer checkpoints
// cannot be used, and why. Errors: not_found (no job, none of its checkpoints is whole, or not
// that one is there), corrupt (that one is damaged), invalid_argument (more than one job and
// none is named; no name of a checkpoint; a name that `output` cannot have), those of the
// storage.
runtime::status export_model(const export_options& options, std::ostream& out,
                             std::ostream& problems);

// The checkpoints of the run, newest first, each with whether it is whole. Errors: not_found.
runtime::status list_checkpoints(const export_options& options, std::ostream& out);

}  // namespace tidegate::launch
