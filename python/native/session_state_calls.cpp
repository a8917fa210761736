#include "python/native/session_state_calls.hpp"

#include <span>

namespace nb = nanobind;

namespace tidegate::python {

void session_state_calls::keep(const std::string& name, const nb::bytes& value) {
  const auto bytes = std::as_bytes(std::span(value.c_str(), value.size()));
  check(home_->run([&](session& current) { return current.state().keep(name, bytes); }));
}

std::optional<nb::bytes> session_state_calls::kept(const std::string& name) {
  const auto kept = home_->use().state().kept(name);
  if (!kept && kept.error().code() == errc::not_found) return {};
  const auto bytes = checked(kept);
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::string> session_state_calls::names() {
  return checked(home_->use().state().names());
}

void session_state_calls::forget(const std::string& name) {
  check(home_->run([&](session& current) { return current.state().forget(name); }));
}

void session_state_calls::forget_all() {
  check(home_->run([](session& current) { return current.state().forget_all(); }));
}

bool session_state_calls::is_lost() {
  return home_->use().state().is_lost();
}

std::optional<std::uint64_t> session_state_calls::older() {
  return home_->use().state().older();
}

void session_state_calls::use_older() {
  check(home_->run([](session& current) { return current.state().use_older(); }));
}

}  // namespace tidegate::python
