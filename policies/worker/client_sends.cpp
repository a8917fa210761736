// What a worker asks of shards about memory on a device, what it tells them with each doorbell,
// and what their answers to doorbells mean; and the frames that its worker core has decided on,
// which may have to wait until its state is copied.
#include <algorithm>

#include "policies/model/kept_versions.hpp"
#include "policies/sending/send_queue.hpp"
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

void client_core::mirrored(std::uint64_t number) {
  mirror_.mirrored(number);
  mirror_.release([this](const worker_effects::send& item) {
    if (worker_.tables().is_of_use(item)) send(item);
  });
}

frame_header client_core::header_for(frame_kind kind, std::uint32_t table,
                                     std::uint32_t shard) const {
  frame_header header;
  header.kind = kind;
  header.job = token_;
  header.epoch = epochs_[shard];
  header.incarnation = incarnation_;
  header.worker = rank_;
  header.table = table;
  return header;
}

void client_core::send(worker_effects::send send) {
  using kind = worker_effects::send_kind;
  if (moving_.contains(send.shard)) return;  // sent when it has moved
  const bool may_name = send.kind == kind::push || send.kind == kind::call;
  if (may_name && tables_.at(send.table).has_rows)
    if (const auto list = shell_.list_of(send)) send.names_list = lists_.sends(send, *list);
  auto header = header_for(frame_kind::push, send.table, send.shard);
  header.chunk = send.chunk;
  header.count = send.count;
  header.clock = send.clock;
  header.request = send.request;
  header.rate = send.rate;
  const auto flag = [&](bool set, std::uint16_t bit) {
    if (set) header.flags = static_cast<std::uint16_t>(header.flags | bit);
  };
  switch (send.kind) {
    case kind::push:
      header.payload_bytes = send.elements * sizeof(float);
      flag(send.pulls, runtime::frame_flag_pull);
      // What is opened first is used first: early layers, which the next clock waits for.
      return shell_.send_gradient(send, header,
                                  use_order(send.clock, tables_.at(send.table).opened_as));
    case kind::skip:
      header.kind = frame_kind::skip;
      flag(send.pulls, runtime::frame_flag_pull);
      break;
    case kind::pull:
      header.kind = frame_kind::pull;
      flag(send.is_final, runtime::frame_flag_final);
      break;
    case kind::call:
      header.kind = frame_kind::call;
      flag(send.is_final, runtime::frame_flag_final);
      header.payload_bytes = runtime::call_payload_bytes;
      return shell_.send_call(send, header);
    case kind::doorbell:
      header.kind = frame_kind::doorbell;
      header.version_buffer = static_cast<std::uint16_t>(send.half);
      flag(send.is_final, runtime::frame_flag_final);
      flag(send.pushes, runtime::frame_flag_push);
      flag(send.skips, runtime::frame_flag_skip);
      flag(send.pulls, runtime::frame_flag_pull);
      flag(send.pushes && is_read_on_device(send.table, send.shard),
           runtime::frame_flag_device);
      if (send.pulls) header.version = device_buffers(send.table, send.shard);
      break;
    case kind::finished:
      header.kind = frame_kind::finished;
      header.chunk = runtime::whole_job;
      break;
  }
  shell_.send(send.shard, header);
}

}  // namespace tidegate::policies
