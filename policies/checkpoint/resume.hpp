// What a launcher makes of a run that was begun before: whether it goes on, and if not, why.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

// What is found in the folder of a run.
struct run_remains {
  bool has_launcher = false;     // one that lives
  bool has_spec = false;         // what the run was begun with
  std::optional<int> exit_code;  // of the life before; none: it did not come to its end
  std::uint32_t last_epoch = 0;  // on record; 0: none
};

struct resume_plan {
  bool is_done = false;     // there is nothing left to do
  std::uint32_t epoch = 1;  // to put on record, and to go on in
};

// Errors: already_exists (a launcher of this run lives), not_found (the run never began, or the
// folder is not of a run), over_limit (no epoch is left). `shown` is the folder, for messages.
// A run that has failed goes on as well: what made it fail may have been mended.
runtime::expected<resume_plan> plan_resume(const run_remains& remains,
                                           const std::string& shown);

}  // namespace tidegate::policies
