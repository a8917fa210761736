// How a simulated shard opens tables, and what its memory does at once on the host and a device
// some time later.
#include <algorithm>
#include <cstring>
#include <utility>

#include "actors/shard/new_chunk.hpp"
#include "launch/simulate/cluster/shard_memory.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::sim {

std::span<float> shard_memory::parameters(std::uint32_t slot, std::uint32_t version_buffer) {
  if (!device_) return endpoint_.parameters(slot, version_buffer).values();
  auto& chunk = chunks_.at(slot);
  while (chunk.parameters.size() <= version_buffer) {
    chunk.parameters.emplace_back(endpoint_.bytes_of(slot) / sizeof(float));
    chunk.shown.push_back(false);
  }
  return chunk.parameters[version_buffer];
}

std::span<float> shard_memory::room(std::uint32_t slot, std::uint32_t version_buffer,
                                    bool steps) {
  const auto shown = endpoint_.room(slot, version_buffer, steps).values();
  if (!device_) return shown;
  const auto values = parameters(slot, version_buffer);
  chunks_[slot].shown[version_buffer] = false;
  spoil(shown);  // until it is shown
  return values;
}

std::span<float> shard_memory::array(const array_name& name) {
  auto& chunk = chunks_.at(name.slot);
  switch (name.of) {
    case array_name::kind::parameters:
      return parameters(name.slot, name.version_buffer);
    case array_name::kind::state1:
      return chunk.state1;
    case array_name::kind::state2:
      return chunk.state2;
  }
  return {};
}

void shard_memory::copy_out(const array_name& name, std::span<float> to,
                            std::shared_ptr<const void> keeps) {
  const auto from = array(name);
  if (!device_) {
    std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  device_->begin(
      [to, keeps = std::move(keeps), values = std::vector<float>(from.begin(), from.end())] {
        std::copy(values.begin(), values.end(), to.begin());
      });
}

void shard_memory::show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) {
  if (!device_) return;
  for (const auto slot : slots) {
    const auto from = parameters(slot, version_buffer);
    if (chunks_[slot].shown[version_buffer]) continue;
    chunks_[slot].shown[version_buffer] = true;
    device_->begin(
        [this, slot, version_buffer, values = std::vector<float>(from.begin(), from.end())] {
          std::copy(values.begin(), values.end(),
                    endpoint_.parameters(slot, version_buffer).values().begin());
        });
  }
}

void shard_memory::land(std::uint32_t slot, std::uint32_t version_buffer) {
  if (!device_) return;
  const auto values = parameters(slot, version_buffer);
  const auto seen = endpoint_.on_device(slot, version_buffer);
  spoil(*seen);
  device_->begin([seen, values = std::vector<float>(values.begin(), values.end())] {
    std::copy(values.begin(), values.end(), seen->begin());
  });
}

void shard_memory::check_shown(std::uint32_t slot, std::uint32_t version_buffer,
                               bool on_device) {
  if (endpoint_.has_rows(slot)) return;
  const std::span<const float> shown =
      on_device ? std::span<const float>(*endpoint_.on_device(slot, version_buffer))
                : endpoint_.parameters(slot, version_buffer).values();
  const auto has = parameters(slot, version_buffer);
  if (!std::equal(shown.begin(), shown.end(), has.begin(), has.end()))
    owner_.check_fails("fresh", "shows other parameters than its device has");
}

runtime::status shard_memory::poll() {
  if (looks_left_ > 0 && --looks_left_ == 0)
    return {runtime::errc::unavailable, "the device is lost"};
  if (device_) device_->look();
  return {};
}

void shard_memory::read_later(inputs from) {
  for (const auto& input : from) {
    const auto handle = input.payload;
    const auto values = endpoint_.find(handle)->values;
    const bool is_kept = !runtime::is_planted(runtime::planted_bug::device_payload_not_kept);
    if (is_kept) endpoint_.begin_reading(handle);
    device_->begin([this, handle, is_kept,
                    expected = std::vector<float>(values.begin(), values.end())] {
      const auto* payload = endpoint_.find(handle);
      // By their bits: gaps are no numbers.
      if (payload == nullptr || payload->values.size() != expected.size() ||
          std::memcmp(payload->values.data(), expected.data(),
                      expected.size() * sizeof(float)) != 0)
        owner_.check_fails("given back", "gives back a payload that its device has not read");
      if (is_kept) endpoint_.end_reading(handle);
    });
  }
}

// For the replica.
void shard_memory::leave_sum(const effects::apply& step, const region& sum) {
  const auto leave = [this, slot = step.slot, clock = step.clock, sum] {
    std::copy(sum->begin(), sum->end(), sum_room(slot, clock).begin());
  };
  device_ ? device_->begin(leave) : leave();
}

bool shard_memory::open_job(std::uint64_t job, bool is_bsp) {
  return jobs_.try_emplace(job, job_options{.is_bsp = is_bsp, .cut_clocks = {}}).second;
}

runtime::status shard_memory::make_chunk(const policies::open_table_call& table,
                                         const policies::owned_chunk& chunk) {
  if (endpoint_.has_rows(chunk.slot)) return {};
  const auto initial = endpoint_.parameters(chunk.slot, 0).values();
  actors::write_initial(table, chunk, initial);
  if (!device_) return {};
  std::copy(initial.begin(), initial.end(), parameters(chunk.slot, 0).begin());
  chunks_.at(chunk.slot).shown[0] = true;
  land(chunk.slot, 0);
  return {};
}

void shard_memory::table_opened(const policies::open_table_call& table,
                                std::span<const policies::owned_chunk> chunks) {
  if (follows_) return;
  for (const auto& chunk : chunks) tell_opened(table, chunk.slot);
}

void shard_memory::tell_opened(const policies::open_table_call& table, std::uint32_t slot) {
  const auto shown = endpoint_.parameters(slot, 0);
  const auto values = endpoint_.has_rows(slot) ? shown.values() : parameters(slot, 0);
  const auto has = shell_.core().snapshots().progress(slot);
  const auto served = endpoint_.served_of(slot, values);
  const auto chunk = endpoint_.chunk_of(slot);
  auto& check = world_.check;
  if (check.is_out(owner_.id()))
    check.promoted_late(owner_.id(), table.token, table.table, chunk, has, served);
  else if (table.restore.number == 0)
    check.open_chunk(table.token, table.table, table.name, chunk, chunks_.at(slot).optimizer,
                     values, rows_of(slot, values));
  else
    check.restore_chunk(table.token, table.table, table.name, chunk, has.ranks, served);
}

runtime::expected<shard_memory::chunk_progress> shard_memory::restore(
    const policies::checkpoint_reader& from, std::size_t table, runtime::storage& folder,
    const policies::owned_chunk& chunk) {
  auto& state = chunks_.at(chunk.slot);
  const auto& stored = from.chunks(table)[chunk.chunk].stored.about;
  const chunk_progress progress{stored.version, stored.ranks};
  if (endpoint_.has_rows(chunk.slot)) {
    if (auto read = endpoint_.rows().restore(from, table, folder, chunk); !read.ok())
      return runtime::fail(std::move(read));
    return progress;
  }
  std::vector<float>* const arrays[] = {&state.state1, &state.state2};
  const auto values = room(chunk.slot, 0, false);
  for (std::size_t array = 0; array < policies::chunk_arrays(stored); ++array) {
    const auto into = array == 0 ? values : std::span(*arrays[array - 1]);
    if (auto read = from.read(folder, table, array, chunk.first, into); !read.ok())
      return runtime::fail(std::move(read));
  }
  land(chunk.slot, 0);
  state.powers = {stored.beta1_power, stored.beta2_power};
  return progress;
}

}  // namespace tidegate::sim
