#include "launch/trace/wait_parts.hpp"

#include <algorithm>
#include <limits>

namespace tidegate::launch {

namespace {

// The last other worker to push what the policy wants.
struct gate {
  std::uint32_t rank = 0;
  std::int64_t pushed_ns = 0;  // when it began to
  shard_arrivals::arrival last;
};

std::optional<gate> gate_of(const noted_wait& wait, const waiter& of, const push_times& pushes,
                            const shard_arrivals& at) {
  if (!of.staleness || wait.clock < *of.staleness) return std::nullopt;
  const job_clock clock(of.job, wait.clock - *of.staleness);
  const auto* needed = at.of(clock);
  if (needed == nullptr) return std::nullopt;
  std::optional<gate> found;
  for (const auto& [rank, arrival] : *needed)
    if (rank != of.rank && (!found || arrival.end_ns > found->last.end_ns))
      found = {.rank = rank, .pushed_ns = arrival.first_ns, .last = arrival};
  if (!found) return found;
  if (const auto pushed = pushes.find({clock, found->rank}); pushed != pushes.end())
    found->pushed_ns = std::min(found->pushed_ns, pushed->second);
  return found;
}

// A wait, of which one part after the other is taken from the begin.
class rest_of_wait {
 public:
  rest_of_wait(std::int64_t begin_ns, std::int64_t end_ns, const shard_arrivals& at)
      : left_ns_(begin_ns), end_ns_(std::max(begin_ns, end_ns)), at_(at) {}

  // Takes what lies before `until`: the time from `from` on in which the shard was at work is
  // the shard's, the rest is `to`'s.
  void take(std::int64_t until, std::int64_t from, std::uint64_t& to, std::uint64_t& shard) {
    const auto end = std::clamp(until, left_ns_, end_ns_);
    const auto busy = at_.busy_ns(std::clamp(from, left_ns_, end), end);
    to += static_cast<std::uint64_t>(end - left_ns_) - busy;
    shard += busy;
    left_ns_ = end;
  }
  void take(std::int64_t until, std::uint64_t& to) {
    const auto end = std::clamp(until, left_ns_, end_ns_);
    to += static_cast<std::uint64_t>(end - left_ns_);
    left_ns_ = end;
  }

 private:
  std::int64_t left_ns_;
  std::int64_t end_ns_;
  const shard_arrivals& at_;
};

}  // namespace

void add_wait(const noted_wait& wait, const waiter& of, const push_times& pushes,
              const shard_arrivals& at, wait_parts& to) {
  constexpr auto always = std::numeric_limits<std::int64_t>::min();
  if (wait.for_room) {
    const auto end = std::max(wait.begin_ns, wait.end_ns);
    const auto whole = static_cast<std::uint64_t>(end - wait.begin_ns);
    const auto replica = std::min(whole, at.replica_ns(wait.begin_ns, end));
    to.replica_ns += replica;
    to.credit_ns += whole - replica;
    return;
  }
  rest_of_wait rest(wait.begin_ns, wait.end_ns, at);
  const job_clock clock(of.job, wait.clock);
  std::int64_t done = 0;  // by the shard, with what it needs for the answer
  if (const auto* own = at.of(clock, of.rank)) {
    rest.take(own->busy_since_ns, always, to.network_ns, to.shard_ns);
    done = own->end_ns;
  }
  // Once the other pushes, what it pushes waits for a shard that is at work; before that the
  // shard's work is no reason.
  if (const auto gate = gate_of(wait, of, pushes, at)) {
    const auto before = to.gate_ns;
    rest.take(std::max(gate->last.busy_since_ns, gate->pushed_ns), gate->pushed_ns, to.gate_ns,
              to.shard_ns);
    if (to.gate_ns > before) to.gate_rank = gate->rank;
    done = std::max(done, gate->last.end_ns);
  }
  if (of.staleness == 0U) done = std::max(done, at.stepped_ns(clock));
  rest.take(done, to.shard_ns);
  rest.take(wait.end_ns, always, to.network_ns, to.shard_ns);
}

}  // namespace tidegate::launch
