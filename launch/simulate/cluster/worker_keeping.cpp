#include "launch/simulate/cluster/worker_keeping.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/model/state_layout.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::sim {

namespace {

constexpr std::size_t version_bytes = 512;

}  // namespace

std::size_t kept_memory::survive(std::size_t bytes) {
  if (world_.find(owner_) == nullptr) return 0;
  if (!left_) return bytes;
  const auto written = std::min<std::uint64_t>(*left_, bytes);
  *left_ -= written;
  if (written == bytes) return bytes;
  ++world_.killed[world_.find(owner_)->name()];
  world_.kill(owner_);
  return written;
}

void kept_memory::write(std::size_t offset, std::span<const std::byte> bytes) {
  const auto written = survive(bytes.size());
  std::memcpy(bytes_->data() + offset, bytes.data(), written);
}

void kept_memory::store(std::size_t offset, std::uint64_t word) {
  if (survive(sizeof word) == sizeof word)
    std::memcpy(bytes_->data() + offset, &word, sizeof word);
}

worker_keeping::worker_keeping(world& where, const process& owner, std::uint32_t rank,
                               std::optional<std::uint64_t> first)
    : world_(where), owner_(owner), rank_(rank), first_(first) {}

void worker_keeping::prepare(world& where, const std::string& name, std::uint32_t epoch,
                             bool joins) {
  auto& record = where.kept[name];
  if (joins) record = {};
  if (record.memory) return;
  record.memory = std::make_shared<std::vector<std::byte>>(
      policies::state_memory_bytes(version_bytes), std::byte{});
  if (!joins && epoch > 1) return;
  constexpr std::uint64_t history = 1;
  std::memcpy(record.memory->data() + policies::state_history_offset, &history, sizeof history);
}

void worker_keeping::enter(const policies::worker_welcome& welcome) {
  auto& record = world_.kept.at(owner_.name());
  memory_.emplace(world_, owner_.id(), record.memory);
  kept_.emplace(*memory_, version_bytes);
  kept_->resume(welcome.epoch, welcome.first_clock);
  if (!first_) return;
  const auto clock = welcome.first_clock;
  // The program begins anew where it finds nothing.
  begun_ = is_used() ? record.begun : std::max(*first_, clock);
  check(welcome);
  record.begun = begun_;
  record.is_lost = kept_->is_lost();
  record.epoch = welcome.epoch;
}

void worker_keeping::check(const policies::worker_welcome& welcome) {
  const auto& record = world_.kept.at(owner_.name());
  const auto clock = welcome.first_clock;
  const auto at = " at clock " + std::to_string(clock);
  const bool is_known = record.epoch != 0;
  if (kept_->is_lost()) {
    const bool is_lost_before = record.is_lost && clock <= record.begun;
    if (record.epoch == welcome.epoch && !is_lost_before)
      fail("its state" + at + " is lost, although the job has not gone back");
    if (clock == 0) fail("a worker at clock 0 has no state to lose");
    return;
  }
  if (!is_used()) {
    if (is_known && clock > record.begun) fail("its state" + at + " is gone without a word");
    return;
  }
  if (!is_known || clock <= record.begun) return fail("it has a state" + at + " from nowhere");
  if (found() != expected(clock)) fail("its state" + at + " is of another clock, or torn");
}

// Of every length, so that versions of one clock after another do not lie alike.
worker_keeping::entries worker_keeping::expected(std::uint64_t clock) const {
  auto value = runtime::mix64(rank_ + 1);
  for (auto past = begun_; past < clock; ++past) value = runtime::mix64(value ^ past);
  entries all;
  for (std::uint64_t i = 0; i < 1 + value % 3; ++i) {
    std::string bytes;
    while (bytes.size() < value % 41) {
      value = runtime::mix64(value);
      bytes.push_back(static_cast<char>(value));
    }
    all["entry " + std::to_string(i)] = bytes;
  }
  return all;
}

worker_keeping::entries worker_keeping::found() const {
  entries all;
  for (const auto name : kept_->names()) {
    const auto bytes = *kept_->kept(name);
    all[std::string(name)] =
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

void worker_keeping::keep(std::uint64_t clock) {
  if (!is_used() || kept_->is_lost())
    if (const auto cleared = kept_->clear(clock); !cleared.ok()) fail(cleared.to_string());
  const auto wanted = expected(clock + 1);
  for (const auto& [name, bytes] : found())
    if (!wanted.contains(name))
      if (const auto gone = kept_->forget(name, clock); !gone.ok()) fail(gone.to_string());
  for (const auto& [name, bytes] : wanted)
    if (const auto kept = kept_->keep(name, std::as_bytes(std::span(bytes)), clock); !kept.ok())
      fail(kept.to_string());
}

void worker_keeping::commit(std::uint64_t version) {
  const auto number = world_.commits++;
  for (const auto& death : world_.plan.commit_deaths)
    if (death.commit == number) memory_->die_after(death.bytes);
  kept_->commit(version);
}

}  // namespace tidegate::sim
