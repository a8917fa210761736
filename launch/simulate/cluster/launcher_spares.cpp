// The spares of the simulated launcher.
#include <algorithm>

#include "launch/simulate/cluster/launcher.hpp"

namespace tidegate::sim {

using policies::spare_number;

// A program takes a while to come to where it waits; some end before or after that.
runtime::status launcher::spawn_spare(const policies::launch_effects::start_spare& start) {
  const auto number = start.spare;
  if (!spares_started_.insert(number).second)
    world_.check.fail("spares", "spare " + std::to_string(number) + " is started twice");
  const auto& job = *world_.plan.spec.find_job(start.job);
  const auto host = host_of_worker(world_.plan.spec, job, start.rank);
  const auto beside = std::count_if(spares_.begin(), spares_.end(), [&](const auto& entry) {
    return entry.second.job == start.job && entry.second.host == host;
  });
  if (beside > job.spares)  // with the original
    world_.check.fail("spares", "job " + start.job + " has more of them than it wants");
  const auto original = spares_.find(start.copy_of);
  const bool is_copy = start.copy_of != policies::no_spare;
  if (is_copy && spares_taken_.contains(start.copy_of))
    world_.check.fail("spares", "a worker is to copy itself");
  if (is_copy && (original == spares_.end() || original->second.job != start.job ||
                  original->second.host != host || !original->second.can_copy))
    return {runtime::errc::not_found, "the original has ended"};
  if (world_.chance.chance(world_.plan.spares_die / 2))
    return {runtime::errc::io_error, "no more processes"};
  const bool can_copy = !is_copy && world_.chance.chance(world_.plan.spares_copy);
  const auto begun =
      is_copy ? millisecond : world_.chance.between<nanoseconds>(0, world_.plan.set.start_most);
  spares_[number] = {.job = start.job,
                     .host = host,
                     .waits_at = world_.time.now() + begun,
                     .can_copy = can_copy};
  // One that is stopped never says a word.
  if (!is_copy || !world_.chance.chance(world_.plan.spares_die / 4))
    later(begun, [this, number, can_copy] {
      if (!ended_ && spares_.contains(number))
        happens([&](auto& turn) { turn.spares_ready.push_back({number, can_copy}); });
    });
  if (world_.chance.chance(world_.plan.spares_die))
    later(world_.chance.between<nanoseconds>(0, 20 * begun + millisecond),
          [this, number] { end_spare_now(number); });
  return {};
}

void launcher::end_spare(spare_number number) {
  later(world_.chance.between<nanoseconds>(0, millisecond),
        [this, number] { end_spare_now(number); });
}

void launcher::end_spare_now(spare_number number) {
  if (ended_ || spares_.erase(number) == 0) return;
  happens([&](auto& turn) {
    turn.spare_ends.push_back({number, "spare " + std::to_string(number) + " ended"});
  });
}

// Returns how long the spare takes to be the process, or nothing where it has just ended.
std::optional<nanoseconds> launcher::take_spare(spare_number number,
                                                const policies::process_name& name) {
  if (!spares_started_.contains(number) || spares_taken_.contains(number))
    world_.check.fail("spares", name.to_string() + " is to be a spare that has a place");
  const auto found = spares_.extract(number);
  if (!found) return {};
  spares_taken_.insert(number);
  const auto& job = *world_.plan.spec.find_job(name.job);
  if (found.mapped().job != name.job ||
      found.mapped().host != host_of_worker(world_.plan.spec, job, name.index))
    world_.check.fail("spares", name.to_string() + " is to be a spare of another job or host");
  return std::max<nanoseconds>(0, found.mapped().waits_at - world_.time.now());
}

}  // namespace tidegate::sim
