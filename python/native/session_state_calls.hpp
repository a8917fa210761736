// The calls of a Python worker's session about the state that it keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/native/worker_session.hpp"

namespace tidegate::python {

class session_state_calls {
 public:
  explicit session_state_calls(std::shared_ptr<worker_session> home) : home_(std::move(home)) {}

  void keep(const std::string& name, const nanobind::bytes& value);
  std::optional<nanobind::bytes> kept(const std::string& name);  // none: not there
  std::vector<std::string> names();
  void forget(const std::string& name);
  void forget_all();
  bool is_lost();
  std::optional<std::uint64_t> older();
  void use_older();

 private:
  std::shared_ptr<worker_session> home_;
};

}  // namespace tidegate::python
