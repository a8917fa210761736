// The coordinator's journal in the folder of a run: a file per epoch, and what the process
// before has left in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "policies/coordinator/record.hpp"
#include "runtime/base/journal.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

struct kept_journal {
  std::unique_ptr<runtime::journal> file;  // none: nothing is kept
  policies::recorded_cluster before;

  // Errors: those of the journal.
  runtime::status write(std::span<const policies::coordinator_record> records);
};

// RUN_DIR/coordinator/epoch-0001.sqlite, which is made; those of other epochs are removed. No
// run folder, no journal. Errors: those of journals; corrupt (of another cluster).
runtime::expected<kept_journal> open_journal(const policies::cluster_spec& cluster,
                                             const std::string& run_dir, std::uint32_t epoch);

}  // namespace tidegate::actors
