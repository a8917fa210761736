// What a worker asks of shards about memory on a device, what it tells them with each doorbell,
// and what their answers to doorbells mean.
#include <algorithm>

#include "policies/model/kept_versions.hpp"
#include "policies/worker/client_core.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

// Nobody waits for it: until the shard has answered, the host's memory is used.
void client_core::ask_device(std::uint32_t table, std::uint32_t shard) {
  devices_.ask(table, shard);
  send_device_attach(table, shard);
}

void client_core::send_device_attach(std::uint32_t table, std::uint32_t shard) {
  auto header = header_for(frame_kind::device_attach, table, shard);
  header.version = shell_.device_buffers(table, shard);
  shell_.send_device_places(shard, header);
}

void client_core::on_device_attached(const frame_header& header,
                                     std::span<const std::byte> places) {
  if (!devices_.answered(header.table, header.shard) || header.code != 0) return;
  for (const auto& part : worker_.tables().parts_of(header.table))
    if (part.shard == header.shard)
      devices_.attached(header.table, header.shard,
                        (header.flags & runtime::frame_flag_device) != 0,
                        shell_.map_on_device(header.table, part, places));
}

// A version buffer that the worker does not know yet is read on the host this time.
void client_core::ask_for_buffer(const frame_header& reply) {
  if (reply.version_buffer >= runtime::device_buffers_max ||
      !shell_.pulls_on_device(reply.table) || !devices_.may_ask(reply.table, reply.shard))
    return;
  const auto known = shell_.device_buffers(reply.table, reply.shard);
  if ((known >> reply.version_buffer & 1) == 0) ask_device(reply.table, reply.shard);
}

// A shard names what it was told of, for the pull that is under way.
bool client_core::knows_on_device(const frame_header& reply) const {
  return reply.version_buffer < runtime::device_buffers_max &&
         (shell_.device_buffers(reply.table, reply.shard) >> reply.version_buffer & 1) != 0;
}

bool client_core::is_read_on_device(std::uint32_t table, std::uint32_t shard) const {
  if (devices_.empty()) return false;
  if (table != all_tables) return devices_.is_read(table, shard);
  return std::all_of(tables_.begin(), tables_.end(), [&](const auto& entry) {
    const auto* part = worker_.tables().at(entry.first).part_at(shard);
    return part == nullptr || devices_.is_read(entry.first, shard);
  });
}

bool client_core::reads_on_device(std::uint32_t table) const {
  if (devices_.empty()) return false;
  if (table == all_tables)
    return std::all_of(tables_.begin(), tables_.end(),
                       [&](const auto& entry) { return reads_on_device(entry.first); });
  const auto parts = worker_.tables().parts_of(table);
  return std::all_of(parts.begin(), parts.end(), [&](const table_part& part) {
    return part.attached && devices_.is_read(table, part.shard);
  });
}

std::uint64_t client_core::device_buffers(std::uint32_t table, std::uint32_t shard) const {
  if (devices_.empty()) return 0;
  if (table != all_tables) return shell_.device_buffers(table, shard);
  auto buffers = ~std::uint64_t{0};
  for (const auto& [id, state] : tables_)
    if (worker_.tables().at(id).part_at(shard) != nullptr)
      buffers &= shell_.device_buffers(id, shard);
  return buffers;
}

void client_core::on_doorbell(const frame_header& header) {
  const auto code = static_cast<reply_code>(header.code);
  const part_run where{.table = header.table,
                       .shard = header.shard,
                       .first = header.chunk,
                       .count = header.count};
  if (header.kind == frame_kind::doorbell_ack)
    return worker_.on_doorbell_ack(where, header.clock, code, effects_);
  if (header.kind != frame_kind::doorbell_reply ||
      header.version_buffer >= version_buffers_max(workers_))
    return;
  if ((header.flags & runtime::frame_flag_applied) != 0)
    worker_.on_doorbell_ack(where, header.clock - 1, reply_code::ok, effects_);
  const bool on_device = (header.flags & runtime::frame_flag_device) != 0;
  if (on_device && !knows_on_device(header)) return;
  if (code == reply_code::ok && !on_device) ask_for_buffer(header);
  worker_.on_doorbell_reply(where,
                            {.request = header.request,
                             .code = code,
                             .min_clock = header.min_clock,
                             .version_buffer = header.version_buffer,
                             .on_device = on_device},
                            effects_);
}

}  // namespace tidegate::policies
