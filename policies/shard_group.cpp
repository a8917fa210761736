#include "policies/shard_group.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

shard_group::shard_group(const state& before)
    : size_(group_size_max),
      incarnations_(before.incarnations),
      primary_(before.primary),
      view_(before.view),
      serving_(before.serving_view),
      began_(true),
      replica_(before.has_replica),
      synced_(before.in_sync),
      lost_(before.is_lost) {
  if (lost_) return;
  awaited_.at(primary_) = true;
  awaited_.at(other()) = replica_;
}

shard_group::state shard_group::now() const {
  TIDEGATE_ASSERT(began_ && size_ == group_size_max, "a group that somebody goes on with");
  state is{incarnations_, primary_, view_, serving_, replica_, synced_, lost_};
  // Who waits to be the replica joins the next coordinator as one of whom it has not heard.
  if (!replica_ && is_here(other())) --is.incarnations[other()];
  return is;
}

shard_group::change shard_group::joined(std::uint32_t member, std::uint32_t incarnation,
                                        std::string address) {
  TIDEGATE_ASSERT(member < size_ && !address.empty() && !is_here(member),
                  "its predecessor has left");
  const bool returns = std::exchange(awaited_.at(member), false);
  TIDEGATE_ASSERT(!returns || incarnation == incarnations_[member],
                  "the one that was awaited has left before");
  addresses_[member] = std::move(address);
  incarnations_[member] = incarnation;
  if (lost_) return change::none;
  if (returns) return is_complete() ? change::complete : change::none;
  if (began_) return change::rejoined;
  const auto end = addresses_.begin() + size_;
  if (std::any_of(addresses_.begin(), end, [](const auto& one) { return one.empty(); }))
    return change::none;
  began_ = true;
  replica_ = synced_ = size_ > 1;
  return change::complete;
}

shard_group::change shard_group::left(std::uint32_t member) {
  if (!was_here(member)) return change::none;
  addresses_.at(member).clear();
  awaited_.at(member) = false;
  if (!began_ || lost_) return change::none;
  const bool was_together = replica_;
  const bool had_all = synced_;
  if (member != primary_) {
    if (!was_together) return change::none;  // not welcomed yet
    replica_ = synced_ = false;
    ++view_;
    return change::alone;
  }
  replica_ = synced_ = false;
  if (!was_together || !had_all) {
    lost_ = true;
    return change::lost;
  }
  primary_ = other();
  serving_ = ++view_;
  return change::promoted;
}

void shard_group::welcome() {
  TIDEGATE_ASSERT(began_ && !replica_ && is_here(other()), "a process that waits to be one");
  replica_ = true;
  synced_ = false;
  ++view_;
}

bool shard_group::in_sync(std::uint32_t view) {
  if (!replica_ || view != view_) return false;
  synced_ = true;
  return true;
}

}  // namespace tidegate::policies
