#include "python/native/errors.hpp"

namespace nb = nanobind;

namespace tidegate::python {

void raise(const status& outcome) {
  const auto code = to_string(outcome.code());
  const auto make = nb::module_::import_("tidegate.errors").attr("from_status");
  const nb::object error = make(nb::str(code.data(), code.size()),
                                nb::str(outcome.message().data(), outcome.message().size()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void check(const status& outcome) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (!outcome.ok()) raise(outcome);
}

}  // namespace tidegate::python
