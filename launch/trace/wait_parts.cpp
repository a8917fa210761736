#include "launch/trace/wait_parts.hpp"

#include <algorithm>

namespace tidegate::launch {

namespace {

// The last other worker to push what the policy waits for, and when that came.
struct gate {
  std::uint32_t rank = 0;
  std::int64_t opened_ns = 0;
  std::int64_t handled_ns = 0;
};

std::optional<gate> gate_of(const noted_wait& wait, const waiter& of,
                            const shard_arrivals& at) {
  if (!of.staleness || wait.clock < *of.staleness) return std::nullopt;
  const auto* needed = at.of({of.job, wait.clock - *of.staleness});
  if (needed == nullptr) return std::nullopt;
  std::optional<gate> last;
  for (const auto& [rank, arrival] : *needed)
    if (rank != of.rank && (!last || arrival.begin_ns > last->opened_ns))
      last = {.rank = rank, .opened_ns = arrival.begin_ns, .handled_ns = arrival.end_ns};
  return last;
}

// Takes what lies before `until` from the begin of what is left of a wait.
std::uint64_t take(std::int64_t until, std::int64_t& left_ns, std::int64_t end_ns) {
  const auto to = std::clamp(until, left_ns, end_ns);
  const auto taken = static_cast<std::uint64_t>(to - left_ns);
  left_ns = to;
  return taken;
}

}  // namespace

void add_wait(const noted_wait& wait, const waiter& of, const shard_arrivals& at,
              wait_parts& to) {
  const auto end = std::max(wait.begin_ns, wait.end_ns);
  if (wait.for_room) {
    const auto replica = at.replica_ns(wait.begin_ns, end);
    to.replica_ns += replica;
    to.credit_ns += static_cast<std::uint64_t>(end - wait.begin_ns) - replica;
    return;
  }
  auto left = wait.begin_ns;
  const job_clock clock(of.job, wait.clock);
  std::int64_t done = 0;  // by the shard, with what it needs for the answer
  if (const auto* own = at.of(clock, of.rank)) {
    to.network_ns += take(own->begin_ns, left, end);
    done = own->end_ns;
  }
  if (const auto gate = gate_of(wait, of, at)) {
    const auto waited = take(gate->opened_ns, left, end);
    if (waited > 0) to.gate_rank = gate->rank;
    to.gate_ns += waited;
    done = std::max(done, gate->handled_ns);
  }
  if (of.staleness == 0U) done = std::max(done, at.stepped_ns(clock));
  to.shard_ns += take(done, left, end);
  to.network_ns += take(end, left, end);
}

}  // namespace tidegate::launch
