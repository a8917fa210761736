#include "runtime/device/emulated/schedule.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr std::size_t ring_first = 16;  // pieces of work that a stream has room for at first

bool takes_time(work_kind kind) {
  return kind != work_kind::record && kind != work_kind::wait;
}

}  // namespace

void schedule::stream_state::push(const work& item) {
  if (count == ring.size()) {
    std::vector<work> larger(std::max(ring_first, 2 * ring.size()));
    for (std::size_t i = 0; i < count; ++i) larger[i] = ring[(first + i) % ring.size()];
    ring.swap(larger);
    first = 0;
  }
  ring[(first + count++) % ring.size()] = item;
}

void schedule::stream_state::pop() noexcept {
  first = (first + 1) % ring.size();
  --count;
}

stream schedule::add_stream() {
  streams_.emplace_back();
  return static_cast<stream>(streams_.size() - 1);
}

event schedule::add_event() {
  events_.emplace_back();
  return static_cast<event>(events_.size() - 1);
}

// Often nothing, mostly little, seldom the most: a bug that needs one piece of work to be much
// later than another meets that within a few seeds.
std::uint64_t schedule::draw(std::uint64_t most) {
  const auto style = random_.below(10);
  if (style == 0 || most == 0) return 0;
  if (style == 1) return most;
  return random_.below(most / (style < 6 ? 8 : 1) + 1);
}

void schedule::submit(stream on, work item, std::uint64_t now) {
  TIDEGATE_ASSERT(has(on), "a stream of this device");
  item.submitted_at = now;
  item.delay = draw(most_.delay_ns);
  item.duration = draw(item.kind == work_kind::record ? most_.news_ns : most_.duration_ns);
  if (!takes_time(item.kind)) {
    TIDEGATE_ASSERT(has(item.end), "an event of this device");
    auto& state = events_[index(item.end)];
    item.generation = item.kind == work_kind::record ? ++state.recorded : state.recorded;
  }
  streams_[index(on)].push(item);
}

std::optional<std::uint64_t> schedule::due(const stream_state& on) const {
  if (on.count == 0) return std::nullopt;
  const auto& head = on.front();
  const auto free = std::max(on.free_at, head.submitted_at);
  if (head.kind == work_kind::wait) {
    const auto& state = events_[index(head.end)];
    if (state.ended < head.generation) return std::nullopt;
    return std::max(free, state.ended_at);
  }
  if (head.kind == work_kind::record) return free;
  return on.has_begun ? on.ends_at : free + head.delay;
}

std::optional<std::uint64_t> schedule::next_due() const {
  std::optional<std::uint64_t> first;
  for (const auto& on : streams_)
    if (const auto at = due(on); at && (!first || *at < *first)) first = at;
  return first;
}

schedule::part schedule::take_next() {
  const auto at = next_due();
  TIDEGATE_ASSERT(at, "something is due");
  auto& on = *std::find_if(streams_.begin(), streams_.end(),
                           [&](const stream_state& item) { return due(item) == at; });
  taken_ = on.front();
  if (takes_time(taken_.kind) && !on.has_begun) {
    on.has_begun = true;
    on.ends_at = *at + taken_.duration;
    return {&taken_, half::first};
  }
  on.pop();
  on.has_begun = false;
  on.free_at = *at;
  if (taken_.kind == work_kind::record) {
    auto& state = events_[index(taken_.end)];
    state.ended = taken_.generation;
    state.ended_at = *at;
    state.seen_at = *at + taken_.duration;
  }
  return {&taken_, half::second};
}

bool schedule::has_ended(event end, std::uint64_t now) const {
  TIDEGATE_ASSERT(has(end), "an event of this device");
  const auto& state = events_[index(end)];
  return state.ended == state.recorded && now >= state.seen_at;
}

bool schedule::is_idle() const noexcept {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const stream_state& on) { return on.count == 0; });
}

void schedule::clear() noexcept {
  for (auto& on : streams_) {
    on.count = 0;
    on.has_begun = false;
  }
}

}  // namespace tidegate::runtime::devices
