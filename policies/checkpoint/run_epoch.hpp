// The epochs of a run: each time that everything begins again it is in a new one, higher than
// any before, whatever crashed on the way. On record in a folder of its own, as the name of a
// file: "epoch-0003". Pure over a storage; one thread; blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// The name of the file, and the epoch of a file of this name; 0: another file, or a temporary
// one.
std::string epoch_file_name(std::uint32_t epoch);
std::uint32_t epoch_of_file(std::string_view name);

// The highest that is on record; 0: none. Errors: those of list.
runtime::expected<std::uint32_t> last_epoch(runtime::storage& folder);
// Returns when `epoch`, higher than all on record, is there for good. Errors: those of the
// storage; then it may be on record or not.
runtime::status record_epoch(runtime::storage& folder, std::uint32_t epoch);

}  // namespace tidegate::policies
