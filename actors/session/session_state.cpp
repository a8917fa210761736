#include "actors/session/session_state.hpp"

#include <utility>

#include "policies/model/state_layout.hpp"

namespace tidegate::actors {

using policies::kept_state;
using runtime::status;

session_state::session_state(runtime::expected<std::shared_ptr<runtime::state_file>> file,
                             std::shared_ptr<runtime::mirror_line> line)
    : memory_(file.value_or(nullptr)),
      line_(std::move(line)),
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

std::optional<std::uint64_t> session_state::older_clock() const {
  const std::lock_guard lock(mutex_);
  return kept_.older_clock();
}

status session_state::use_older(std::uint64_t clock) {
  const std::lock_guard lock(mutex_);
  return kept_.use_older(clock);
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

bool session_state::commit(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  return kept_.commit(version);
}

}  // namespace tidegate::actors
