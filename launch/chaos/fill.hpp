// Takes all that is free on the disk of a run folder. Main thread only.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::chaos {

// A disk with more free is not one for tests.
inline constexpr std::uint64_t fill_bytes_max = 4ULL << 30U;

// A file without a name that holds what was free: closing it gives all back, as does the end of
// this process. Errors: refused (too much is free), io_error.
runtime::expected<runtime::unique_fd> fill_disk(const std::string& run_dir);

}  // namespace tidegate::chaos
