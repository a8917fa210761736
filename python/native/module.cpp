// The native half of the Python package: tidegate._native. tidegate/session.py is what users
// see, and says what everything does; here is only what needs C++.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/filters.hpp"
#include "python/native/session_device_calls.hpp"
#include "python/native/session_row_calls.hpp"
#include "python/native/session_state_calls.hpp"
#include "python/native/worker_session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tidegate::python {
namespace {

void bind_options(nb::module_& module) {
  nb::class_<schedule>(module, "Schedule")
      .def(nb::init<>())
      .def_rw("kind", &schedule::kind)
      .def_rw("warmup", &schedule::warmup)
      .def_rw("clocks", &schedule::clocks)
      .def_rw("factor", &schedule::factor);
  nb::class_<optimizer>(module, "Optimizer")
      .def(nb::init<>())
      .def_rw("name", &optimizer::name)
      .def_rw("learning_rate", &optimizer::learning_rate)
      .def_rw("momentum", &optimizer::momentum)
      .def_rw("beta1", &optimizer::beta1)
      .def_rw("beta2", &optimizer::beta2)
      .def_rw("epsilon", &optimizer::epsilon)
      .def_rw("weight_decay", &optimizer::weight_decay)
      .def_rw("l1", &optimizer::l1)
      .def_rw("l2", &optimizer::l2)
      .def_rw("beta", &optimizer::beta)
      .def_rw("l21", &optimizer::l21)
      .def_rw("clip_value", &optimizer::clip_value)
      .def_rw("schedule", &optimizer::schedule)
      .def_rw("lazy", &optimizer::lazy)
      .def_rw("reduce", &optimizer::reduce)
      .def_rw("states", &optimizer::states);
  nb::class_<table_options>(module, "TableOptions")
      .def(nb::init<>())
      .def_rw("optimizer", &table_options::optimizer)
      .def_rw("init_uniform", &table_options::init_uniform)
      .def_rw("init_constant", &table_options::init_constant)
      .def_rw("init_pushed", &table_options::init_pushed);
  nb::class_<table>(module, "Table").def_ro("size", &table::size);
  nb::class_<row_segment>(module, "RowSegment")
      .def(nb::init<>())
      .def_rw("columns", &row_segment::columns)
      .def_rw("optimizer", &row_segment::optimizer)
      .def_rw("init_uniform", &row_segment::init_uniform)
      .def_rw("init_constant", &row_segment::init_constant);
  nb::class_<row_table_options>(module, "RowTableOptions")
      .def(nb::init<>())
      .def_rw("optimizer", &row_table_options::optimizer)
      .def_rw("init_uniform", &row_table_options::init_uniform)
      .def_rw("init_constant", &row_table_options::init_constant)
      .def_rw("capacity", &row_table_options::capacity)
      .def_rw("parts", &row_table_options::parts)
      .def_rw("admit_count", &row_table_options::admit_count)
      .def_rw("admit_candidates", &row_table_options::admit_candidates)
      .def_rw("evict_unseen", &row_table_options::evict_unseen)
      .def_rw("evict_rows", &row_table_options::evict_rows)
      .def_rw("evict_by", &row_table_options::evict_by)
      .def_rw("memory", &row_table_options::memory)
      .def_rw("segments", &row_table_options::segments);
  nb::class_<row_table>(module, "RowTable").def_prop_ro("dim", &row_table::dim);
}

void bind_session(nb::module_& module) {
  using self = worker_session;
  nb::class_<operation>(module, "Operation")
      .def("ready", &operation::ready)
      .def("wait", &operation::wait);
  nb::class_<self>(module, "Session")
      .def_static("connect", &self::connect)
      .def_prop_ro("job", [](const self& s) { return s.info().job; })
      .def_prop_ro("policy", [](const self& s) { return s.info().policy; })
      .def_prop_ro("reduce", [](const self& s) { return s.info().reduce; })
      .def_prop_ro("rank", [](const self& s) { return s.info().rank; })
      .def_prop_ro("size", [](const self& s) { return s.info().workers; })
      .def_prop_ro("seed", [](const self& s) { return s.info().seed; })
      .def_prop_ro("incarnation", [](const self& s) { return s.info().incarnation; })
      .def_prop_ro("is_open", &self::is_open)
      .def_prop_ro("can_finish", &self::can_finish)
      .def_prop_ro("is_of_this_process", &self::is_of_this_process)
      .def("now", &self::now)
      .def("open_table", &self::open_table, "name"_a, "shape"_a, "options"_a.none())
      .def("gradient", &self::gradient)
      .def("parameters", &self::parameters)
      .def("gradient_at", &self::gradient_at)
      .def("parameters_at", &self::parameters_at)
      .def("push", &self::push)
      .def("pull", &self::pull, "table"_a, "to_the_end"_a)
      .def("push_from", &self::push_from, "table"_a, "gradient"_a.noconvert())
      .def("pull_into", &self::pull_into, "table"_a, "parameters"_a.noconvert(), "to_the_end"_a)
      .def("push_ranges", &self::push_ranges, "table"_a, "ranges"_a,
           "values"_a.noconvert().none())
      .def("pull_ranges", &self::pull_ranges, "table"_a, "ranges"_a,
           "values"_a.noconvert().none())
      .def("call", &self::call)
      .def("exchange", &self::exchange)
      .def("clock", &self::clock)
      .def("scale_learning_rate", &self::scale_learning_rate)
      .def(
          "report",
          [](self& s, std::uint64_t clocks_total, double epoch, double loss,
             std::uint64_t samples) {
            s.report({clocks_total, epoch, loss, samples});
          },
          "clocks_total"_a, "epoch"_a, "loss"_a, "samples"_a)
      .def("report_metric", &self::report_metric)
      .def("end_clocks", &self::end_clocks)
      .def("finish", &self::finish)
      .def("finish_at_exit", &self::finish_at_exit)
      .def("fail", &self::fail)
      .def("take_over", &self::take_over)
      .def("borrow", &self::borrow)
      .def("give_back", &self::give_back);
}

void bind_device_calls(nb::module_& module) {
  using self = session_device_calls;
  nb::class_<self>(module, "DeviceCalls")
      .def(nb::init<std::shared_ptr<worker_session>>())
      .def("use", &self::use)
      .def("gradient_at", &self::gradient_at)
      .def("parameters_at", &self::parameters_at)
      .def("push_from", &self::push_from)
      .def("pull_into", &self::pull_into)
      .def("copy_in", &self::copy_in, "to"_a, "values"_a.noconvert())
      .def("copy_out", &self::copy_out, "at"_a, "into"_a.noconvert())
      .def("tensor", &self::tensor);
}

void bind_state_calls(nb::module_& module) {
  using self = session_state_calls;
  nb::class_<self>(module, "StateCalls")
      .def(nb::init<std::shared_ptr<worker_session>>())
      .def("keep", &self::keep)
      .def("kept", &self::kept)
      .def("names", &self::names)
      .def("forget", &self::forget)
      .def("forget_all", &self::forget_all)
      .def("is_lost", &self::is_lost)
      .def("older", &self::older)
      .def("use_older", &self::use_older);
}

void bind_row_calls(nb::module_& module) {
  using self = session_row_calls;
  nb::class_<self>(module, "RowCalls")
      .def(nb::init<std::shared_ptr<worker_session>>())
      .def("open", &self::open, "name"_a, "dim"_a, "options"_a.none())
      .def("push", &self::push, "table"_a, "ids"_a.noconvert(), "gradients"_a.noconvert())
      .def("pull", &self::pull, "table"_a, "ids"_a.noconvert(), "out"_a.noconvert(),
           "to_the_end"_a)
      .def("prefetch", &self::prefetch, "table"_a, "ids"_a.noconvert())
      .def("rows", &self::rows)
      .def("call", &self::call);
}

NB_MODULE(_native, module) {
  module.attr("__version__") = TIDEGATE_VERSION;
  bind_options(module);
  bind_session(module);
  bind_device_calls(module);
  bind_row_calls(module);
  bind_state_calls(module);
  bind_filters(module);
  module.def("await_place", &worker_session::await_place);
  module.def("note_garbage", [](std::int64_t nanoseconds) {
    note_garbage(std::chrono::nanoseconds(nanoseconds));
  });
}

}  // namespace
}  // namespace tidegate::python
