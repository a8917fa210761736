// The project's own name for the public status type. The first to decide logs an error; the
// others pass it up. Bugs are assertions (assert.hpp).
#pragma once

#include <tidegate/status.hpp>

namespace tidegate::runtime {

using tidegate::errc;
using tidegate::expected;
using tidegate::fail;
using tidegate::status;
using tidegate::to_string;

}  // namespace tidegate::runtime
