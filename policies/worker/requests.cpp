#include "policies/worker/requests.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;
using send_kind = worker_effects::send_kind;
using replied = pull_state::replied;

namespace {

worker_effects::send send_of(std::uint32_t id, const push_state& push, bool in_place) {
  worker_effects::send send;
  if (in_place) send.kind = send_kind::doorbell;
  send.table = id;
  send.clock = push.clock;
  send.half = push.half;
  send.rate = push.rate;
  return send;
}

worker_effects::send send_of(std::uint32_t id, const pull_state& pull, std::uint64_t request,
                             bool in_place) {
  worker_effects::send send;
  send.kind = pull.calls ? send_kind::call : in_place ? send_kind::doorbell : send_kind::pull;
  send.table = id;
  send.clock = pull.clock;
  send.request = request;
  send.is_final = pull.is_final;
  send.pulls = true;
  return send;
}

// The results of calls travel in any case.
bool is_in_place(const table_part& part, const pull_state& pull) {
  return part.attached && !pull.calls;
}

void aim(worker_effects::send& send, const chunk_place& place) {
  send.chunk = place.chunk;
  send.first = place.first;
  send.elements = place.elements;
}

// Calls visitor(first, chunks) for each longest run of chunks of the part for which `kind` is
// the same. `first`: the index of the run's first.
template <class Kind, class Visitor>
void visit_runs(const table_part& part, const Kind& kind, const Visitor& visitor) {
  const auto chunks = std::span(part.chunks);
  for (std::size_t first = 0; first < chunks.size();) {
    auto end = first + 1;
    while (end < chunks.size() && kind(chunks[end]) == kind(chunks[first])) ++end;
    visitor(first, chunks.subspan(first, end - first));
    first = end;
  }
}

// One doorbell of the whole part where it is one run.
void aim_doorbell(worker_effects::send& send, const table_part& part, std::size_t first,
                  std::span<const std::uint32_t> run) {
  const bool whole = run.size() == part.chunks.size();
  send.chunk = static_cast<std::uint32_t>(first);
  send.count = whole ? 0 : static_cast<std::uint32_t>(run.size());
}

// Planted: a push of ranges says nothing of the chunks that they do not touch.
bool forgets_untouched(const push_state& push) {
  return push.op != 0 && is_planted(planted_bug::untouched_chunks_not_skipped);
}

// A push or skip of the chunks of this part for which is_due(chunk); of an attached part it
// speaks of whole runs.
template <class IsDue>
void push_part(const worker_table& table, const table_part& part, const push_state& push,
               worker_effects::send send, bool is_again, const IsDue& is_due,
               worker_effects& out) {
  send.shard = part.shard;
  const auto skips = [&](std::uint32_t chunk) {
    if (is_again && is_planted(planted_bug::untouched_chunk_pushed_again)) return push.op == 0;
    return push.skips(chunk);
  };
  if (!part.attached) {
    for (const auto chunk : part.chunks) {
      if (!is_due(chunk) || (skips(chunk) && forgets_untouched(push))) continue;
      send.kind = skips(chunk) ? send_kind::skip : send_kind::push;
      aim(send, table.places[chunk]);
      out.sends.push_back(send);
    }
    return;
  }
  visit_runs(part, skips, [&](std::size_t first, std::span<const std::uint32_t> run) {
    if (std::none_of(run.begin(), run.end(), is_due)) return;
    if (skips(run.front()) && forgets_untouched(push)) return;
    send.skips = skips(run.front());
    send.pushes = !send.skips;
    aim_doorbell(send, part, first, run);
    out.sends.push_back(send);
  });
}

}  // namespace

void send_push(std::uint32_t id, const worker_table& table, const push_state& push,
               std::uint64_t request, worker_effects& out) {
  const auto is_due = [](std::uint32_t) { return true; };
  for (const bool in_place : {true, false}) {
    auto send = send_of(id, push, in_place);
    send.pulls = request != 0;
    send.request = request;
    for (const auto& part : table.parts)
      if (part.attached == in_place) push_part(table, part, push, send, false, is_due, out);
  }
}

void send_pull(std::uint32_t id, const worker_table& table, std::uint64_t request,
               worker_effects& out) {
  const auto& pull = table.pull;
  for (const auto& part : table.parts) {
    const bool in_place = is_in_place(part, pull);
    auto send = send_of(id, pull, request, in_place);
    send.shard = part.shard;
    visit_runs(
        part, [&](std::uint32_t chunk) { return pull.asks(chunk); },
        [&](std::size_t first, std::span<const std::uint32_t> run) {
          if (!pull.asks(run.front())) return;
          if (in_place) {
            aim_doorbell(send, part, first, run);
            out.sends.push_back(send);
            return;
          }
          for (const auto chunk : run) {
            aim(send, table.places[chunk]);
            out.sends.push_back(send);
          }
        });
  }
}

void begin_waiting_pull(std::uint32_t id, worker_table& table, std::uint64_t request,
                        worker_effects& out) {
  auto& wanted = table.waiting;
  auto& pull = table.pull;
  pull.begin(wanted.clock, std::exchange(wanted.op, 0), wanted.is_final, request);
  pull.calls = wanted.calls;
  pull.is_ahead = wanted.is_ahead;
  if (!wanted.asks_all) {
    pull.ask_only(wanted.chunks);
    for (auto& source : table.sources)
      source.is_current = is_planted(planted_bug::chunk_found_that_was_not_asked_for);
  }
  if (pull.remaining > 0) return send_pull(id, table, request, out);
  pull.active = false;
  out.dones.push_back({pull.op, reply_code::ok});
}

void resend_push(std::uint32_t id, const worker_table& table, const push_state& push,
                 std::uint32_t shard, worker_effects& out) {
  TIDEGATE_RARE("worker: a push is sent again");
  const auto is_due = [&](std::uint32_t chunk) { return push.acked[chunk] == 0; };
  for (const auto& part : table.parts)
    if (shard == every_shard || part.shard == shard)
      push_part(table, part, push, send_of(id, push, part.attached), true, is_due, out);
}

void repeat_push(std::uint32_t id, const worker_table& table, const push_state& push,
                 std::uint32_t chunk, worker_effects& out) {
  const auto is_due = [&](std::uint32_t other) { return other == chunk; };
  push_part(table, *table.part_at(table.places[chunk].shard), push, send_of(id, push, false),
            true, is_due, out);
}

void repeat_call(std::uint32_t id, worker_table& table, std::uint32_t chunk,
                 std::uint64_t request, worker_effects& out) {
  auto& pull = table.pull;
  if (!pull.calls || pull.chunks[chunk] != replied::no) return;
  pull.requests[chunk] = request;
  auto send = send_of(id, pull, request, false);
  send.shard = table.places[chunk].shard;
  aim(send, table.places[chunk]);
  out.sends.push_back(send);
}

void resend_pull(std::uint32_t id, worker_table& table, std::uint32_t shard,
                 std::uint64_t request, worker_effects& out) {
  TIDEGATE_RARE("worker: a pull is sent again");
  auto& pull = table.pull;
  const auto is_due = [&](std::uint32_t chunk) { return pull.chunks[chunk] == replied::no; };
  const auto ask_again = [&](std::uint32_t chunk) {
    if (pull.chunks[chunk] == replied::yes) {
      // The doorbell asks for its whole run, and moves the lease to what it is answered with.
      pull.chunks[chunk] = replied::no;
      ++pull.remaining;
    }
    if (is_due(chunk)) pull.requests[chunk] = request;
  };
  for (const auto& part : table.parts) {
    if (shard != every_shard && part.shard != shard) continue;
    const bool in_place = is_in_place(part, pull);
    auto send = send_of(id, pull, request, in_place);
    send.shard = part.shard;
    if (!in_place) {
      for (const auto chunk : part.chunks) {
        if (!is_due(chunk)) continue;
        pull.requests[chunk] = request;
        aim(send, table.places[chunk]);
        out.sends.push_back(send);
      }
      continue;
    }
    visit_runs(
        part, [&](std::uint32_t chunk) { return pull.asks(chunk); },
        [&](std::size_t first, std::span<const std::uint32_t> run) {
          if (std::none_of(run.begin(), run.end(), is_due)) return;
          for (const auto chunk : run) ask_again(chunk);
          aim_doorbell(send, part, first, run);
          out.sends.push_back(send);
        });
  }
}

}  // namespace tidegate::policies
