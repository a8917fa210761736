// The filters of include/tidegate/filters.hpp, for tidegate/filters.py.
#pragma once

#include <nanobind/nanobind.h>

namespace tidegate::python {

void bind_filters(nanobind::module_& module);

}  // namespace tidegate::python
