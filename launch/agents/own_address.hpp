// Which of this machine's addresses another host sees. Any thread; asks the resolver and the
// routing table, sends nothing.
#pragma once

#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns the address from which `host`, an address or a name, is reached. Errors: unavailable
// (it has no address, or no route leads there).
runtime::expected<std::string> own_address_towards(const std::string& host);

}  // namespace tidegate::launch
