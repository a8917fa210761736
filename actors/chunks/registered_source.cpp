#include "actors/chunks/registered_source.hpp"

namespace tidegate::actors {

runtime::region registered_source::allocate(std::size_t bytes) {
  auto memory = from_->allocate(bytes);
  if (!memory) return {};
  auto registered =
      device_.register_host(memory.bytes(), runtime::devices::host_access::read_write);
  auto* const data = memory.data();
  const auto size = memory.size();
  auto* const handle = memory.handle();
  auto& kept = given_[data];
  kept.memory = std::move(memory);
  if (registered) kept.registered = std::move(*registered);
  return {*this, data, size, handle};
}

void registered_source::release(std::byte* data, std::size_t, void*) noexcept {
  given_.erase(data);
}

}  // namespace tidegate::actors
