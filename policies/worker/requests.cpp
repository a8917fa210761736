#include "policies/worker/requests.hpp"

#include <algorithm>

#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using send_kind = worker_effects::send_kind;
using replied = pull_state::replied;

namespace {

worker_effects::send send_of(std::uint32_t id, const push_state& push, bool in_place) {
  const bool skips = push.op == 0;
  worker_effects::send send;
  send.kind = in_place ? send_kind::doorbell : skips ? send_kind::skip : send_kind::push;
  send.table = id;
  send.clock = push.clock;
  send.half = push.half;
  send.rate = push.rate;
  send.pushes = in_place && !skips;
  send.skips = in_place && skips;
  return send;
}

worker_effects::send send_of(std::uint32_t id, const pull_state& pull, std::uint64_t request) {
  worker_effects::send send;
  send.table = id;
  send.clock = pull.clock;
  send.request = request;
  send.is_final = pull.is_final;
  send.pulls = true;
  return send;
}

void aim(worker_effects::send& send, const chunk_place& place) {
  send.chunk = place.chunk;
  send.first = place.first;
  send.elements = place.elements;
}

}  // namespace

void send_push(std::uint32_t id, const worker_table& table, const push_state& push,
               std::uint64_t request, worker_effects& out) {
  for (const bool in_place : {true, false}) {
    auto send = send_of(id, push, in_place);
    send.pulls = request != 0;
    send.request = request;
    for (const auto& part : table.parts) {
      if (part.attached != in_place) continue;
      send.shard = part.shard;
      if (in_place) out.sends.push_back(send);
      if (in_place) continue;
      for (const auto chunk : part.chunks) {
        aim(send, table.places[chunk]);
        out.sends.push_back(send);
      }
    }
  }
}

void send_pull(std::uint32_t id, const worker_table& table, std::uint64_t request,
               worker_effects& out) {
  auto send = send_of(id, table.pull, request);
  for (const auto& part : table.parts) {
    send.shard = part.shard;
    send.kind = part.attached ? send_kind::doorbell : send_kind::pull;
    if (part.attached) {
      out.sends.push_back(send);
      continue;
    }
    for (const auto chunk : part.chunks) {
      auto of_chunk = send;
      aim(of_chunk, table.places[chunk]);
      out.sends.push_back(of_chunk);
    }
  }
}

void resend_push(std::uint32_t id, const worker_table& table, const push_state& push,
                 std::uint32_t shard, worker_effects& out) {
  TIDEGATE_RARE("worker: a push is sent again");
  for (const auto& part : table.parts) {
    if (shard != every_shard && part.shard != shard) continue;
    auto send = send_of(id, push, part.attached);
    send.shard = part.shard;
    bool doorbell_sent = false;
    for (const auto chunk : part.chunks) {
      if (push.acked[chunk] != 0 || doorbell_sent) continue;
      doorbell_sent = part.attached;  // once for all
      if (!doorbell_sent) aim(send, table.places[chunk]);
      out.sends.push_back(send);
    }
  }
}

void resend_pull(std::uint32_t id, worker_table& table, std::uint32_t shard,
                 std::uint64_t request, worker_effects& out) {
  TIDEGATE_RARE("worker: a pull is sent again");
  auto& pull = table.pull;
  auto send = send_of(id, pull, request);
  for (const auto& part : table.parts) {
    if (shard != every_shard && part.shard != shard) continue;
    send.shard = part.shard;
    send.kind = part.attached ? send_kind::doorbell : send_kind::pull;
    const auto is_due = [&](std::uint32_t chunk) { return pull.chunks[chunk] == replied::no; };
    if (std::none_of(part.chunks.begin(), part.chunks.end(), is_due)) continue;
    for (const auto chunk : part.chunks) {
      if (part.attached && pull.chunks[chunk] == replied::yes) {
        // The doorbell asks for the whole part, and moves the lease to what it is answered
        // with.
        pull.chunks[chunk] = replied::no;
        ++pull.remaining;
      }
      if (!is_due(chunk)) continue;
      pull.requests[chunk] = request;
      if (part.attached) continue;
      aim(send, table.places[chunk]);
      out.sends.push_back(send);
    }
    if (part.attached) out.sends.push_back(send);
  }
}

}  // namespace tidegate::policies
