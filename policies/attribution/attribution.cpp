#include "policies/attribution/attribution.hpp"

#include <algorithm>

namespace tidegate::policies {

namespace {

using cause = held_up_by::cause;
using party = held_up_by::party;

constexpr double times_others_least = 2;
// Of the time by which it is late, what a cause must explain.
constexpr double explained_least = 0.5;
// Of its time, what a shard that cannot be compared must work.
constexpr double busy_least = 0.5;
// A clock: fewer pages are read from a disk now and then by any program.
constexpr double faults_least = 16;

pressure_account account_of(const pressure_rates& rates, double seconds) {
  return {.stopped = rates.stopped * seconds,
          .starved = rates.starved * seconds,
          .disk_faults = rates.disk_faults * seconds,
          .memory = rates.memory * seconds};
}

void add(pressure_account& to, const pressure_account& more) {
  to.stopped += more.stopped;
  to.starved += more.starved;
  to.disk_faults += more.disk_faults;
  to.memory += more.memory;
}

// The median over the others that have one.
template <class Accounts, class Value>
double of_others(const Accounts& all, std::uint32_t number, const Value& value) {
  std::vector<double> others;
  for (const auto& [other, of] : all)
    if (other != number) others.push_back(value(of));
  if (others.empty()) return 0;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return *middle;
}

// The sums of some periods, and what follows from them.
class account_book {
 public:
  explicit account_book(std::span<const job_period> periods) {
    for (const auto& period : periods) add(sums_, period);
    std::erase_if(sums_.workers, [](const auto& worker) { return worker.second.clocks <= 0; });
    for (const auto& [rank, worker] : sums_.workers) {
      clocks_ = std::max(clocks_, worker.clocks);
      worker_clocks_ += worker.clocks;
      const auto waits = worker.waits / worker.clocks;
      waits_least_ = least_is_known_ ? std::min(waits_least_, waits) : waits;
      least_is_known_ = true;
    }
    for (const auto& [shard, of] : sums_.shards) shards_are_compared_ |= of.last > 0;
    waits_for_worker_ = std::ranges::any_of(sums_.workers, [this](const auto& worker) {
      return holds_up(party::worker, worker.first);
    });
  }

  const job_period& sums() const noexcept { return sums_; }
  // Seconds by which the job was later for this worker or shard, over all clocks.
  double late_for(party kind, std::uint32_t number) const {
    return kind == party::worker ? late_for_worker(number) : late_for_shard(number);
  }
  bool holds_up(party kind, std::uint32_t number) const {
    const auto late = late_for(kind, number);
    return late > 0 && late >= held_up_least * sums_.seconds &&
           late >= times_others_least * late_for_others(kind, number);
  }
  held_up_by account_for(party kind, std::uint32_t number) const {
    return kind == party::worker ? of_worker(number) : of_shard(number);
  }

 private:
  // What the others have waited, at most: under async nobody waits, and under ssp only who is
  // too far ahead does.
  double late_for_worker(std::uint32_t rank) const {
    const auto at = sums_.workers.find(rank);
    return at == sums_.workers.end() ? 0 : std::min(at->second.late, waited_by_others(rank));
  }
  // Nothing is later than the worker that waits least has waited: who comes last waits for
  // shards alone.
  double late_for_shard(std::uint32_t shard) const {
    const auto at = sums_.shards.find(shard);
    if (at == sums_.shards.end() || !least_is_known_) return 0;
    return std::min(delay_of(at->second), clocks_ * waits_least_);
  }
  // What workers saw, or, where they see no difference, as of one shard alone and behind
  // aggregators, what the shard says of itself.
  double delay_of(const shard_account& of) const {
    if (!shards_are_compared_) {
      const auto most = std::max(of.busy, beside_work(of));
      const auto works = most >= busy_least * sums_.seconds ? most : 0;
      return std::max({of.pressure.stopped, of.pressure.starved, works});
    }
    const auto seen = clocks_ * of.late / worker_clocks_;
    if (!waits_for_worker_) return seen;
    // A worker that is late everywhere may be later here than elsewhere, by which this shard
    // waits longer than others, and answers later.
    double others = of.waits;
    for (const auto& [shard, each] : sums_.shards) others = std::min(others, each.waits);
    // What comes while it is stopped is late by its clock, and not by another's.
    return seen - std::max(0.0, of.waits - of.pressure.stopped - others);
  }
  // For so long steps waited for the replica alone: while it steps itself it loses nothing.
  static double beside_work(const shard_account& of) {
    return std::max(0.0, of.replica - of.busy);
  }
  double late_for_others(party kind, std::uint32_t number) const {
    if (kind == party::worker)
      return of_others(sums_.workers, number, [](const auto& of) { return of.late; });
    return of_others(sums_.shards, number, [this](const auto& of) { return delay_of(of); });
  }
  double waited_by_others(std::uint32_t rank) const {
    const auto& own = sums_.workers.at(rank);
    return own.clocks *
           of_others(sums_.workers, rank, [](const auto& of) { return of.waits / of.clocks; });
  }

  // A clock's, of what the process says of itself.
  struct explanation {
    cause because = cause::arrives;
    double own = 0;
    double others = 0;
  };
  template <class Accounts, class Clocks>
  explanation by_pressure(const Accounts& all, std::uint32_t number, double late,
                          const Clocks& clocks) const {
    const auto& own = all.at(number);
    const auto per_clock = [&](double pressure_account::*part) {
      return [&clocks, part](const auto& of) { return of.pressure.*part / clocks(of); };
    };
    for (const auto& [because, part] :
         {std::pair(cause::stopped, &pressure_account::stopped),
          std::pair(cause::starved, &pressure_account::starved)}) {
      const auto others = of_others(all, number, per_clock(part));
      if (per_clock(part)(own) - others >= explained_least * late)
        return {.because = because, .own = per_clock(part)(own), .others = others};
    }
    return {};
  }

  // Another cause in place of one, if this value of a clock explains the delay, too.
  template <class Accounts, class Value>
  static explanation refined(const explanation& from, double late, cause because,
                             const Accounts& all, std::uint32_t number, const Value& value) {
    const auto own = value(all.at(number));
    const auto others = of_others(all, number, value);
    if (own - others < explained_least * late) return from;
    return {.because = because, .own = own, .others = others};
  }

  held_up_by of_worker(std::uint32_t rank) const {
    const auto& own = sums_.workers.at(rank);
    const auto clocks = [](const worker_account& of) { return of.clocks; };
    held_up_by of{.kind = party::worker,
                  .number = rank,
                  .comes_last = own.last / own.clocks,
                  .late_seconds = late_for_worker(rank) / own.clocks,
                  .has_others = sums_.workers.size() > 1};
    auto why = by_pressure(sums_.workers, rank, of.late_seconds, clocks);
    const auto explains = [&](cause because, double worker_account::*part) {
      if (why.because != cause::arrives) return;
      const auto value = [part](const worker_account& each) {
        return each.*part / each.clocks;
      };
      const auto others = of_others(sums_.workers, rank, value);
      if (value(own) - others < explained_least * of.late_seconds) return;
      why = {.because = because, .own = value(own), .others = others};
    };
    explains(cause::computes, &worker_account::computes);
    if (why.because == cause::computes) {
      why = refined(why, of.late_seconds, cause::garbage, sums_.workers, rank,
                    [&](const auto& each) { return each.garbage / each.clocks; });
      why = refined(why, of.late_seconds, cause::memory, sums_.workers, rank,
                    [&](const auto& each) { return each.pressure.memory / each.clocks; });
      const auto faults = [](const worker_account& each) {
        return each.pressure.disk_faults / each.clocks;
      };
      const auto others = of_others(sums_.workers, rank, faults);
      if (faults(own) >= std::max(faults_least, times_others_least * others))
        why = {.because = cause::disk_faults, .own = faults(own), .others = others};
    }
    explains(cause::calls, &worker_account::calls);
    return with(of, why);
  }

  held_up_by of_shard(std::uint32_t shard) const {
    const auto& own = sums_.shards.at(shard);
    const auto clocks = [this](const shard_account&) { return clocks_; };
    held_up_by of{.kind = party::shard,
                  .number = shard,
                  .comes_last = own.last / worker_clocks_,
                  .late_seconds = late_for_shard(shard) / clocks_,
                  .has_others = sums_.shards.size() > 1};
    auto why = by_pressure(sums_.shards, shard, of.late_seconds, clocks);
    if (why.because == cause::arrives) {
      const auto busy = [this](const shard_account& each) { return each.busy / clocks_; };
      const auto others = of_others(sums_.shards, shard, busy);
      const bool waits_longer = !shards_are_compared_ && beside_work(own) > own.busy;
      if (!waits_longer && busy(own) - others >= explained_least * of.late_seconds)
        why = refined({.because = cause::busy, .own = busy(own), .others = others},
                      of.late_seconds, cause::memory, sums_.shards, shard,
                      [&](const auto& each) { return each.pressure.memory / clocks_; });
    }
    if (why.because == cause::arrives)
      why = refined(why, of.late_seconds, cause::replica, sums_.shards, shard,
                    [&](const auto& each) { return each.replica / clocks_; });
    return with(of, why);
  }

  held_up_by with(held_up_by of, const explanation& why) const {
    of.because = why.because;
    of.own_seconds = why.own;
    of.others_seconds = why.others;
    const auto late = late_for(of.kind, of.number);
    of.faster = sums_.seconds / std::max(sums_.seconds - late, 0.01 * sums_.seconds);
    return of;
  }

  job_period sums_;
  double clocks_ = 0;         // of the fastest worker
  double worker_clocks_ = 0;  // of all together
  double waits_least_ = 0;    // a clock, of the worker that waits least
  bool least_is_known_ = false;
  bool shards_are_compared_ = false;  // by workers
  bool waits_for_worker_ = false;     // that is late at all shards
};

// What comes late for no reason of its own, the link of a shard or of a worker, or of what
// replicates a shard, makes others late that need its answers or its pushes. What shards are
// late by is told apart from that (delay_of); of workers it is not.
void keep_first_link(std::vector<held_up_by>& all) {
  const auto is_link = [](const held_up_by& of) { return of.because == cause::arrives; };
  const auto is_shards_link = [&](const held_up_by& of) {
    return of.kind == party::shard && (is_link(of) || of.because == cause::replica);
  };
  auto first = std::ranges::find_if(all, is_shards_link);
  if (first == all.end()) first = std::ranges::find_if(all, is_link);
  if (first == all.end()) return;
  const auto kept = *first;
  std::erase_if(all, [&](const held_up_by& of) {
    return is_link(of) && (of.kind != kept.kind || of.number != kept.number);
  });
  // Another that is worse, and says why, may be the reason.
  if (all.size() > 1 && !is_link(all.front())) std::erase_if(all, is_link);
}

}  // namespace

job_period period_of(std::uint64_t clock, const job_rates& rates) {
  job_period of{.clock = clock, .seconds = rates.seconds};
  double clocks = 0;
  for (const auto& worker : rates.workers) {
    auto& to = of.workers[worker.rank];
    to.clocks = worker.clocks;
    to.computes = worker.computes * worker.seconds;
    to.calls = worker.calls * worker.seconds;
    to.waits = worker.waits * worker.seconds;
    to.credits = worker.credits * worker.seconds;
    to.garbage = worker.garbage * worker.seconds;
    to.pressure = account_of(worker.pressure, worker.seconds);
    to.last = worker.comes_last * to.clocks;
    to.late = worker.late;
    clocks += to.clocks;
  }
  for (const auto& shard : rates.shards) {
    auto& to = of.shards[shard.shard];
    to.last = shard.answers_last * clocks;
    to.late = to.last * shard.late_seconds;
    to.waits = shard.waits;
    to.busy = shard.busy * shard.seconds;
    to.replica = shard.replica * shard.seconds;
    to.pressure = account_of(shard.pressure, shard.seconds);
  }
  if (rates.checkpoint) {
    const auto& from = *rates.checkpoint;
    const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
    of.checkpoints.push_back({.clock = from.clock,
                              .seconds = seconds(from.round_ns),
                              .late = seconds(from.late_ns),
                              .shard = from.shard,
                              .part = seconds(from.part_ns),
                              .others = seconds(from.others_ns),
                              .manifest = seconds(from.manifest_ns),
                              .part_bytes = from.part_bytes,
                              .others_bytes = from.others_bytes});
  }
  return of;
}

void add(job_period& to, const job_period& more) {
  to.seconds += more.seconds;
  for (const auto& [rank, from] : more.workers) {
    auto& sum = to.workers[rank];
    for (const auto part :
         {&worker_account::clocks, &worker_account::computes, &worker_account::calls,
          &worker_account::waits, &worker_account::credits, &worker_account::garbage,
          &worker_account::last, &worker_account::late})
      sum.*part += from.*part;
    add(sum.pressure, from.pressure);
  }
  for (const auto& [shard, from] : more.shards) {
    auto& sum = to.shards[shard];
    for (const auto part : {&shard_account::last, &shard_account::late, &shard_account::waits,
                            &shard_account::busy, &shard_account::replica})
      sum.*part += from.*part;
    add(sum.pressure, from.pressure);
  }
  to.checkpoints.insert(to.checkpoints.end(), more.checkpoints.begin(), more.checkpoints.end());
}

std::vector<held_up_by> held_up(std::span<const job_period> periods) {
  std::vector<held_up_by> all;
  const account_book book(periods);
  const auto judge = [&](party kind, std::uint32_t number) {
    if (!book.holds_up(kind, number)) return;
    auto of = book.account_for(kind, number);
    const auto in = std::count_if(periods.begin(), periods.end(), [&](const auto& period) {
      return account_book({&period, 1}).holds_up(kind, number);
    });
    of.of_the_time = static_cast<double>(in) / static_cast<double>(periods.size());
    all.push_back(of);
  };
  for (const auto& [rank, worker] : book.sums().workers) judge(party::worker, rank);
  for (const auto& [shard, of] : book.sums().shards) judge(party::shard, shard);
  std::stable_sort(all.begin(), all.end(), [](const held_up_by& a, const held_up_by& b) {
    return a.faster > b.faster;
  });
  keep_first_link(all);
  return all;
}

}  // namespace tidegate::policies
