#include "launch/simulate/cluster/worker_keeping.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "launch/simulate/cluster/host_processes.hpp"
#include "policies/agent/state_memory_plan.hpp"
#include "policies/model/state_layout.hpp"
#include "policies/worker/state_versions.hpp"
#include "runtime/base/limits.hpp"
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

void agents_memory::write(std::size_t offset, std::span<const std::byte> bytes) {
  std::memcpy(bytes_->data() + offset, bytes.data(), bytes.size());
}

void agents_memory::store(std::size_t offset, std::uint64_t word) {
  std::memcpy(bytes_->data() + offset, &word, sizeof word);
}

kept_bytes prepare_memory(const policies::agent_orders::start& start, kept_bytes before,
                          bool is_mirrored) {
  const auto plan = policies::plan_state_memory(start, before != nullptr);
  if (!plan.is_new) return before;
  auto memory = std::make_shared<std::vector<std::byte>>(
      policies::state_memory_bytes(version_bytes), std::byte{});
  agents_memory fresh(memory);
  if (plan.has_history) fresh.store(policies::state_history_offset, 1);
  if (is_mirrored && start.state)
    static_cast<void>(policies::state_versions(fresh, version_bytes).restore(*start.state));
  return memory;
}

policies::state_image image_of(const kept_bytes& memory, std::uint64_t version) {
  agents_memory whole(memory);
  return policies::state_versions(whole, version_bytes).image(version);
}

void worker_keeping::enter(const policies::worker_welcome& welcome) {
  auto& record = world_.kept[owner_.name()];
  memory_.emplace(world_, owner_.id(), bytes_);
  kept_.emplace(*memory_, version_bytes);
  kept_->resume(welcome.epoch, welcome.first_clock);
  if (!options_.first) return;
  const auto clock = welcome.first_clock;
  check(welcome);
  // The program begins anew where it finds nothing. Of what it did later before its job went
  // back, nothing counts.
  record.begun.erase(record.begun.lower_bound(clock), record.begun.end());
  begun_ = is_used() ? begun_of_found(clock).value_or(clock) : std::max(*options_.first, clock);
  record.begun.insert(begun_);
  record.is_lost = kept_->is_lost();
  if (std::exchange(record.has_moved, false)) record.moved_at = clock;
  if (std::exchange(record.epoch, welcome.epoch) == welcome.epoch) return;
  record.epochs.erase(record.epochs.lower_bound(clock), record.epochs.end());
  record.epochs[clock] = welcome.epoch;
}

bool worker_keeping::has_begun(std::uint64_t clock) const {
  const auto& begun = world_.kept.at(owner_.name()).begun;
  return !begun.empty() && *begun.begin() < clock;
}

// One that has begun anew may have been cut off, so that nothing came of it.
std::optional<std::uint64_t> worker_keeping::begun_of_found(std::uint64_t clock) const {
  for (const auto begun : world_.kept.at(owner_.name()).begun)
    if (begun < clock && found() == expected(begun, clock)) return begun;
  return {};
}

void worker_keeping::check(const policies::worker_welcome& welcome) {
  const auto& record = world_.kept.at(owner_.name());
  const auto clock = welcome.first_clock;
  const auto at = " at clock " + std::to_string(clock);
  if (kept_->is_lost()) {
    const bool is_lost_before = record.is_lost && clock <= *record.begun.rbegin();
    if (record.epoch == welcome.epoch && !is_lost_before && !may_be_lost(clock))
      fail("its state" + at + " is lost, although the job has not gone back");
    if (clock == 0) fail("a worker at clock 0 has no state to lose");
    return;
  }
  if (!is_used()) {
    if (has_begun(clock)) fail("its state" + at + " is gone without a word");
    return;
  }
  if (!has_begun(clock)) return fail("it has a state" + at + " from nowhere");
  if (!begun_of_found(clock)) fail("its state" + at + " is of another clock, or torn");
}

// What is copied is of clocks that are not far before this one. What the process on the lost
// host has pushed may be applied any time after the next has begun elsewhere.
bool worker_keeping::may_be_lost(std::uint64_t clock) const {
  const auto& record = world_.kept.at(owner_.name());
  const bool is_late =
      record.moved_at && clock <= *record.moved_at + runtime::limits::clocks_in_flight_max;
  if (!record.has_moved && !is_late) return false;
  const auto every = options_.mirror_every;
  if (every <= 1) return every == 0;
  const auto newest = clock / every * every;
  if (newest == clock) return false;
  const auto older = kept_->older_clock();
  if (record.begun.size() == 1 && newest > *record.begun.begin() && older.value_or(0) < newest)
    fail("of its state at clock " + std::to_string(clock) + " that of " +
         std::to_string(newest) + " was to be copied");
  return true;
}

// Of every length, so that versions of one clock after another do not lie alike.
worker_keeping::entries worker_keeping::expected(std::uint64_t begun,
                                                 std::uint64_t clock) const {
  const auto& epochs = world_.kept.at(owner_.name()).epochs;
  auto value = runtime::mix64(rank_ + 1);
  for (auto past = begun; past < clock; ++past) {
    const auto later = epochs.upper_bound(past);
    const auto epoch = later == epochs.begin() ? 0 : std::prev(later)->second;
    value = runtime::mix64(value ^ past ^ std::uint64_t{epoch} << 32);
  }
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
  const auto wanted = expected(begun_, clock + 1);
  for (const auto& [name, bytes] : found())
    if (!wanted.contains(name))
      if (const auto gone = kept_->forget(name, clock); !gone.ok()) fail(gone.to_string());
  for (const auto& [name, bytes] : wanted)
    if (const auto kept = kept_->keep(name, std::as_bytes(std::span(bytes)), clock); !kept.ok())
      fail(kept.to_string());
}

bool worker_keeping::commit(std::uint64_t version) {
  const auto number = world_.commits++;
  for (const auto& death : world_.plan.commit_deaths)
    if (death.commit == number) memory_->die_after(death.bytes);
  return kept_->commit(version);
}

void worker_keeping::mirror(const runtime::mirror_request& request) {
  host_processes::asks_to_mirror(world_, owner_.id(), request);
}

}  // namespace tidegate::sim
