// The calls of a Python worker's session about tables of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/native/worker_session.hpp"

namespace tidegate::python {

class session_row_calls {
 public:
  using id_array = nanobind::ndarray<const std::uint64_t, nanobind::ndim<1>, nanobind::c_contig,
                                     nanobind::device::cpu>;
  using ids_out = nanobind::ndarray<nanobind::numpy, std::uint64_t, nanobind::ndim<1>>;
  using values_out = nanobind::ndarray<nanobind::numpy, float, nanobind::ndim<2>>;

  explicit session_row_calls(std::shared_ptr<worker_session> home) : home_(std::move(home)) {}

  row_table open(const std::string& name, std::uint32_t dim,
                 const std::optional<row_table_options>& options);
  // What is pushed is copied; `out` is kept until the pull has ended.
  operation push(const row_table& where, id_array ids, worker_session::own_array gradients);
  operation pull(const row_table& where, id_array ids, worker_session::own_output out,
                 bool to_the_end);
  // Nobody has to wait for it.
  operation prefetch(const row_table& where, id_array ids);
  // All rows, as arrays of their ids, ascending, and of their values.
  std::pair<ids_out, values_out> rows(const row_table& where);
  std::vector<double> call(const row_table& where, const std::string& function,
                           const std::vector<double>& arguments);

 private:
  std::shared_ptr<worker_session> home_;
};

}  // namespace tidegate::python
