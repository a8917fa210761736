#include "actors/session/range_calls.hpp"

#include <string>
#include <utility>

#include "actors/session/session_impl.hpp"
#include "policies/placement/ranges.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

namespace {

bool overlap(std::span<const float> a, std::span<const float> b) {
  return !a.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

template <class Values>
std::optional<std::size_t> size_of(const std::optional<Values>& values) {
  return values ? std::optional(values->size()) : std::nullopt;
}

}  // namespace

status range_calls::check(const table& where, ranges of, std::optional<std::size_t> packed,
                          const char* doing) const {
  if (auto usable = home_.check_usable(); !usable.ok()) return usable;
  if (auto known = home_.check(where, where.size, doing); !known.ok()) return known;
  const auto& grant = *home_.shell_.core().table(where.id);
  const auto subject = std::string(doing) + " of ranges of table '" + grant.name + "'";
  if (home_.device_.has(where))
    return {errc::invalid_argument,
            subject +
                ": it lies on a device; push and pull it whole, or open it before "
                "use_device()"};
  if (auto checked = policies::check_ranges(of, grant.elements); !checked.ok())
    return {checked.code(), subject + ": " + checked.message()};
  const auto elements = policies::elements_of(of);
  if (packed && *packed != elements)
    return {errc::invalid_argument, subject + " with " + std::to_string(*packed) +
                                        " values; the ranges have " + std::to_string(elements) +
                                        " elements"};
  return {};
}

// Of all ranges, one after the other, or where they lie in the table.
status range_calls::check_finite(const table& where, ranges of, std::span<const float> values,
                                 bool is_packed) const {
  std::uint64_t first = 0;
  for (const auto& range : of) {
    const auto elements = range.last - range.first;
    const auto part = values.subspan(is_packed ? first : range.first, elements);
    if (auto finite = home_.check_finite(where, part, range.first); !finite.ok()) return finite;
    first += elements;
  }
  return {};
}

pending range_calls::push(const table& where, ranges of,
                          std::optional<std::span<const float>> values) {
  if (auto checked = check(where, of, size_of(values), "push"); !checked.ok())
    return failed(std::move(checked));
  const auto& grant = *home_.shell_.core().table(where.id);
  if (!grant.lazy)
    return failed({errc::invalid_argument,
                   "push of ranges of table '" + grant.name +
                       "': its optimizer steps every element in every clock; give the table "
                       "optimizer.lazy: true"});
  // The values are copied there range by range, perhaps onto those of ranges that follow.
  const auto& memory = *home_.memories_.at(where.id);
  for (std::uint32_t half = 0; values && half < policies::gradient_halves; ++half)
    if (overlap(*values, memory.gradient(half)))
      return failed({errc::invalid_argument,
                     "push of ranges of table '" + grant.name +
                         "': the values lie where gradient() is; write the ranges to their "
                         "places there and push them in place, or give memory of your own"});
  if (auto outcome = home_.before_moving(); !outcome.ok()) return failed(std::move(outcome));
  const auto looked_at = values ? *values : std::span<const float>(home_.gradient(where));
  if (auto finite = check_finite(where, of, looked_at, values.has_value()); !finite.ok())
    return failed(std::move(finite));
  worker_command command;
  command.kind = worker_command::action::push;
  command.table = where.id;
  command.half = home_.half();
  command.rate = home_.rate_;
  command.done = home_.push_state();
  command.ranges.assign(of.begin(), of.end());
  policies::find_chunks(grant.places, of, command.chunks.emplace());
  if (values) command.packed_gradient = values->data();
  return home_.start(std::move(command));
}

pending range_calls::pull(const table& where, ranges of,
                          std::optional<std::span<float>> values) {
  if (auto checked = check(where, of, size_of(values), "pull"); !checked.ok())
    return failed(std::move(checked));
  worker_command command;
  command.kind = worker_command::action::pull;
  command.table = where.id;
  policies::find_chunks(home_.shell_.core().table(where.id)->places, of,
                        command.chunks.emplace());
  command.ranges.assign(of.begin(), of.end());
  if (values) command.packed_parameters = values->data();
  return home_.start(std::move(command));
}

}  // namespace tidegate::actors
