#include "python/native/filters.hpp"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tidegate/filters.hpp>

#include "python/native/errors.hpp"

namespace nb = nanobind;

namespace tidegate::python {
namespace {

template <class T, int Dimensions>
using array_in = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using ids_in = array_in<std::uint64_t, 1>;
using floats_in = array_in<float, 1>;
using ids_out = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;
using rows_out = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
using floats_out = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
using ranges_out = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>>;
using floats_into = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

// What lies in a filter ends with its next call, and arrays do not: they are copies.
template <class Array, class T>
Array copied(std::span<const T> values, std::initializer_list<std::size_t> shape) {
  auto* memory = new std::vector<T>(values.begin(), values.end());
  const nb::capsule owner(memory,
                          [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return Array(memory->data(), shape, owner);
}

using rows_pair = std::pair<ids_out, rows_out>;

rows_pair copied(const kept_rows& kept, std::size_t dim) {
  return {copied<ids_out>(kept.ids, {kept.ids.size()}),
          copied<rows_out>(kept.gradients, {kept.ids.size(), dim})};
}

template <class Filter>
nb::bytes saved(const Filter& filter) {
  const auto bytes = filter.save();
  return nb::bytes(bytes.data(), bytes.size());
}

template <class Filter>
void restore(Filter& filter, const nb::bytes& bytes) {
  check(filter.restore({static_cast<const std::byte*>(bytes.data()), bytes.size()}));
}

// What all filters have.
template <class Filter>
nb::class_<Filter> bind_filter(nb::module_& module, const char* name) {
  return nb::class_<Filter>(module, name)
      .def_prop_ro("seen", &Filter::seen)
      .def_prop_ro("kept", &Filter::kept)
      .def("save", &saved<Filter>)
      .def("restore", &restore<Filter>);
}

std::pair<ranges_out, floats_out> kept_ranges_of(kkt_filter& filter,
                                                 const array_in<std::uint64_t, 2>& ranges,
                                                 const floats_in& values,
                                                 const floats_in& gradients) {
  std::vector<element_range> given(ranges.shape(0));
  for (std::size_t i = 0; i < given.size(); ++i)
    given[i] = {.first = ranges.data()[2 * i], .last = ranges.data()[2 * i + 1]};
  const auto kept = checked(filter.ranges(given, span_of(values), span_of(gradients)));
  std::vector<std::uint64_t> bounds;
  for (const auto& range : kept.ranges) bounds.insert(bounds.end(), {range.first, range.last});
  return {copied<ranges_out>(std::span<const std::uint64_t>(bounds), {kept.ranges.size(), 2}),
          copied<floats_out>(kept.gradients, {kept.gradients.size()})};
}

void bind_kkt(nb::module_& module) {
  bind_filter<kkt_filter>(module, "KktFilter")
      .def_static("create",
                  [](std::uint32_t dim, float l1, float l2, float slack, float slack_share,
                     std::uint64_t gap) {
                    return checked(kkt_filter::create({.dim = dim,
                                                       .l1 = l1,
                                                       .l2 = l2,
                                                       .slack = slack,
                                                       .slack_share = slack_share,
                                                       .gap = gap}));
                  })
      .def("rows",
           [](kkt_filter& filter, const ids_in& ids, const floats_in& values,
              const floats_in& gradients, std::size_t dim) {
             return copied(
                 checked(filter.rows(span_of(ids), span_of(values), span_of(gradients))), dim);
           })
      .def("ranges", &kept_ranges_of)
      .def("end_pass", &kkt_filter::end_pass)
      .def_prop_ro("threshold", &kkt_filter::threshold)
      .def_prop_ro("violation", &kkt_filter::violation);
}

void bind_significant(nb::module_& module) {
  bind_filter<significant_filter>(module, "SignificantFilter")
      .def_static(
          "create",
          [](std::uint32_t dim, float threshold, float relative, std::uint64_t rows_max) {
            return checked(significant_filter::create({.dim = dim,
                                                       .threshold = threshold,
                                                       .relative = relative,
                                                       .rows_max = rows_max}));
          })
      .def("add",
           [](significant_filter& filter, const ids_in& ids, const floats_in& gradients,
              const floats_in& values, std::size_t dim) {
             return copied(
                 checked(filter.add(span_of(ids), span_of(gradients), span_of(values))), dim);
           })
      .def("flush", [](significant_filter& filter,
                       std::size_t dim) { return copied(filter.flush(), dim); })
      .def_prop_ro("held", &significant_filter::held);
}

void bind_pull(nb::module_& module) {
  bind_filter<pull_filter>(module, "PullFilter")
      .def_static("create",
                  [](std::uint32_t dim, float epsilon, std::uint64_t rest,
                     std::uint64_t rows_max, std::optional<float> initial) {
                    return checked(pull_filter::create({.dim = dim,
                                                        .epsilon = epsilon,
                                                        .initial = initial,
                                                        .rest = rest,
                                                        .rows_max = rows_max}));
                  })
      .def("wanted",
           [](pull_filter& filter, std::uint64_t clock, const ids_in& ids) {
             const auto wanted = checked(filter.wanted(clock, span_of(ids)));
             return copied<ids_out>(wanted, {wanted.size()});
           })
      .def("store", [](pull_filter& filter,
                       const floats_in& values) { check(filter.store(span_of(values))); })
      .def("gather",
           [](const pull_filter& filter, const ids_in& ids, const floats_into& out) {
             check(filter.gather(span_of(ids), {out.data(), out.size()}));
           })
      .def("pushed",
           [](pull_filter& filter, const ids_in& ids) { filter.pushed(span_of(ids)); })
      .def_prop_ro("held", &pull_filter::held);
}

}  // namespace

void bind_filters(nb::module_& module) {
  bind_kkt(module);
  bind_significant(module);
  bind_pull(module);
}

}  // namespace tidegate::python
