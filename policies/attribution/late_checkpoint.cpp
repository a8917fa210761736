#include "policies/attribution/late_checkpoint.hpp"

namespace tidegate::policies {

namespace {

// Of the time of a round, what writing must explain.
constexpr double round_explained_least = 0.5;
constexpr double part_times_least = 2;

std::optional<late_checkpoint::writer> writer_of(const checkpoint_account& of) {
  using writer = late_checkpoint::writer;
  const auto explains = [&](double seconds) {
    return seconds >= round_explained_least * of.seconds && seconds > 0;
  };
  if (explains(of.part)) {
    const auto bytes = static_cast<double>(of.part_bytes);
    const auto others_bytes = static_cast<double>(of.others_bytes);
    // Lines of before do not say how many the other wrote.
    const bool is_slower_a_byte =
        of.others_bytes == 0 || of.part * others_bytes >= part_times_least * of.others * bytes;
    const bool is_slower = of.part >= part_times_least * of.others && is_slower_a_byte;
    return of.others == 0 || is_slower ? writer::shard : writer::all_shards;
  }
  if (explains(of.manifest)) return writer::coordinator;
  return std::nullopt;
}

}  // namespace

std::optional<late_checkpoint> late_checkpoint_in(std::span<const job_period> periods) {
  std::optional<late_checkpoint> found;
  double late = 0;
  double seconds = 0;
  for (const auto& period : periods) {
    seconds += period.seconds;
    for (const auto& each : period.checkpoints) {
      const auto slow = writer_of(each);
      if (!slow) continue;
      late += each.late;
      if (each.late > 0 && (!found || each.late > found->worst.late))
        found = {.slow = *slow, .worst = each};
    }
  }
  if (!found || late < held_up_least * seconds) return std::nullopt;
  found->late_seconds = late;
  return found;
}

}  // namespace tidegate::policies
