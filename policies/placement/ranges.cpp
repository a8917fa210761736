#include "policies/placement/ranges.hpp"

#include <algorithm>
#include <string>

namespace tidegate::policies {

using runtime::element_range;
using runtime::errc;
using runtime::status;

namespace {

std::string text_of(std::span<const element_range> ranges, std::size_t index) {
  const auto& range = ranges[index];
  return "range " + std::to_string(index) + ", [" + std::to_string(range.first) + ", " +
         std::to_string(range.last) + "),";
}

// Calls visitor(place, ranges) for each chunk that some of the ranges touch, with those.
template <class Visitor>
void visit_touched(std::span<const chunk_place> places, std::span<const element_range> ranges,
                   const Visitor& visitor) {
  std::uint64_t visited = 0;  // elements below are of chunks that have been
  while (!ranges.empty()) {
    const auto from = std::max(ranges.front().first, visited);
    const auto place = std::partition_point(
        places.begin(), places.end(),
        [&](const chunk_place& entry) { return entry.first + entry.elements <= from; });
    visited = place->first + place->elements;
    const auto after =
        std::partition_point(ranges.begin(), ranges.end(),
                             [&](const element_range& range) { return range.first < visited; });
    const auto touching = static_cast<std::size_t>(after - ranges.begin());
    visitor(*place, ranges.first(touching));
    // The last of them may go on in the next chunk.
    const bool goes_on = ranges[touching - 1].last > visited;
    ranges = ranges.subspan(goes_on ? touching - 1 : touching);
    places = places.subspan(static_cast<std::size_t>(place - places.begin()));
  }
}

}  // namespace

status check_ranges(std::span<const element_range> ranges, std::uint64_t elements) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& range = ranges[i];
    if (range.first >= range.last)
      return {errc::invalid_argument, text_of(ranges, i) + " has no elements"};
    if (range.last > elements)
      return {errc::invalid_argument,
              text_of(ranges, i) + " ends beyond the table's " + std::to_string(elements)};
    if (range.first < end)
      return {errc::invalid_argument, text_of(ranges, i) + " begins before the end of " +
                                          std::to_string(end) +
                                          " of the one before; ranges ascend and do not "
                                          "overlap"};
    end = range.last;
  }
  return {};
}

std::uint64_t elements_of(std::span<const element_range> ranges) noexcept {
  std::uint64_t sum = 0;
  for (const auto& range : ranges) sum += range.last - range.first;
  return sum;
}

void find_chunks(std::span<const chunk_place> places, std::span<const element_range> ranges,
                 std::vector<std::uint32_t>& into) {
  into.clear();
  visit_touched(places, ranges, [&](const chunk_place& place, std::span<const element_range>) {
    into.push_back(place.chunk);
  });
}

void visit_gaps(std::span<const chunk_place> places, std::span<const element_range> ranges,
                const std::function<void(const element_range&)>& gap) {
  visit_touched(places, ranges,
                [&](const chunk_place& place, std::span<const element_range> touching) {
                  const auto end = place.first + place.elements;
                  auto next = place.first;
                  for (const auto& range : touching) {
                    if (range.first > next) gap({.first = next, .last = range.first});
                    next = std::max(next, std::min(range.last, end));
                  }
                  if (next < end) gap({.first = next, .last = end});
                });
}

}  // namespace tidegate::policies
