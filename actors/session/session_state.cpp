#include "actors/session/session_state.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "policies/model/state_layout.hpp"

namespace tidegate::actors {

using policies::kept_state;
using runtime::status;

void session_state::mapped_memory::write(std::size_t offset, std::span<const std::byte> bytes) {
  std::memcpy(file_->bytes().data() + offset, bytes.data(), bytes.size());
}

// A process that is killed has carried out its instructions up to one of them, so that it is
// the compiler alone that must keep the order. The fences keep it for other processors, too.
void session_state::mapped_memory::store(std::size_t offset, std::uint64_t word) {
  auto* const at = reinterpret_cast<std::uint64_t*>(file_->bytes().data() + offset);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_ref<std::uint64_t>(*at).store(word, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

session_state::session_state(runtime::expected<std::shared_ptr<runtime::state_file>> file)
    : memory_(file ? std::optional<mapped_memory>(std::in_place, *file) : std::nullopt),
      kept_(memory_
                ? kept_state(*memory_, policies::state_version_bytes(memory_->bytes().size()))
                : kept_state(file.error())) {}

void session_state::resume(std::uint32_t epoch, std::uint64_t clock) {
  const std::lock_guard lock(mutex_);
  kept_.resume(epoch, clock);
}

status session_state::usable() const {
  const std::lock_guard lock(mutex_);
  return kept_.usable();
}

bool session_state::is_lost() const {
  const std::lock_guard lock(mutex_);
  return kept_.is_lost();
}

bool session_state::is_used() const {
  const std::lock_guard lock(mutex_);
  return kept_.is_used();
}

status session_state::keep(std::string_view name, std::span<const std::byte> bytes,
                           std::uint64_t clock) {
  const std::lock_guard lock(mutex_);
  return kept_.keep(name, bytes, clock);
}

status session_state::forget(std::string_view name, std::uint64_t clock) {
  const std::lock_guard lock(mutex_);
  return kept_.forget(name, clock);
}

status session_state::clear(std::uint64_t clock) {
  const std::lock_guard lock(mutex_);
  return kept_.clear(clock);
}

std::optional<std::span<const std::byte>> session_state::kept(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return kept_.kept(name);
}

std::vector<std::string> session_state::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto name : kept_.names()) all.emplace_back(name);
  return all;
}

void session_state::commit(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  kept_.commit(version);
}

}  // namespace tidegate::actors
