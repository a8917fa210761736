// Ranges of a table's elements, as users give them: see include/tidegate/table.hpp.
#pragma once

#include <tidegate/table.hpp>

namespace tidegate::runtime {

using tidegate::element_range;

}  // namespace tidegate::runtime
