// The calls of a Python worker's session about its device. Addresses are of the device's
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <utility>
#include <vector>

#include "python/native/worker_session.hpp"

namespace tidegate::python {

class session_device_calls {
 public:
  using device_tensor = nanobind::ndarray<float, nanobind::device::cuda>;

  explicit session_device_calls(std::shared_ptr<worker_session> home)
      : home_(std::move(home)) {}

  void use(const std::string& name, std::uintptr_t stream);
  std::uintptr_t gradient_at(const table& where);
  std::uintptr_t parameters_at(const table& where);  // 0: there are none
  // `memory` owns what is pushed from or pulled to.
  operation push_from(const table& where, std::uintptr_t gradient, nanobind::object memory);
  operation pull_into(const table& where, std::uintptr_t parameters, nanobind::object memory,
                      bool to_the_end);
  void copy_in(std::uintptr_t to, worker_session::own_array from);
  void copy_out(std::uintptr_t from, worker_session::own_output to);
  // A tensor of a CUDA device over this memory, which keeps that of the session mapped.
  device_tensor tensor(std::uintptr_t at, std::vector<std::size_t> shape, int device);

 private:
  std::shared_ptr<worker_session> home_;
};

}  // namespace tidegate::python
