// The commit that this program was built from, "unknown" outside a checkout.
#pragma once

#include <string>

namespace tidegate::simulate {

std::string built_commit();

}  // namespace tidegate::simulate
