#include "python/native/session_device_calls.hpp"

#include <span>
#include <utility>

namespace nb = nanobind;

namespace tidegate::python {

void session_device_calls::use(const std::string& name, std::uintptr_t stream) {
  check(home_->run(
      [&](session& current) { return current.use_device({.name = name, .stream = stream}); }));
}

std::uintptr_t session_device_calls::gradient_at(const table& where) {
  const auto memory =
      checked(home_->run([&](session& current) { return current.device_gradient(where); }));
  return reinterpret_cast<std::uintptr_t>(memory.data);
}

std::uintptr_t session_device_calls::parameters_at(const table& where) {
  return reinterpret_cast<std::uintptr_t>(home_->use().device_parameters(where).data);
}

operation session_device_calls::push_from(const table& where, std::uintptr_t gradient,
                                          nb::object memory) {
  const const_device_span values{reinterpret_cast<const float*>(gradient), where.size};
  return {home_, home_->run_keeping(std::move(memory), [&](session& current) {
            return current.push(where, values);
          })};
}

operation session_device_calls::pull_into(const table& where, std::uintptr_t parameters,
                                          nb::object memory, bool to_the_end) {
  const device_span into{reinterpret_cast<float*>(parameters), where.size};
  return {home_, home_->run_keeping(std::move(memory), [&](session& current) {
            return to_the_end ? current.pull_final(where, into) : current.pull(where, into);
          })};
}

void session_device_calls::copy_in(std::uintptr_t to, worker_session::own_array from) {
  check(home_->run([&](session& current) {
    return current.copy(device_span{reinterpret_cast<float*>(to), from.size()},
                        std::span<const float>(from.data(), from.size()));
  }));
}

void session_device_calls::copy_out(std::uintptr_t from, worker_session::own_output to) {
  check(home_->run([&](session& current) {
    return current.copy(std::span<float>(to.data(), to.size()),
                        const_device_span{reinterpret_cast<const float*>(from), to.size()});
  }));
}

session_device_calls::device_tensor session_device_calls::tensor(std::uintptr_t at,
                                                                 std::vector<std::size_t> shape,
                                                                 int device) {
  return {reinterpret_cast<float*>(at), shape.size(), shape.data(),
          home_->hold_memory(),         nullptr,      nb::dtype<float>(),
          nb::device::cuda::value,      device};
}

}  // namespace tidegate::python
