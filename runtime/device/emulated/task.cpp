#include "runtime/device/emulated/task.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/row_step.hpp"

namespace tidegate::runtime::devices {

using access = address_space::access;

bool task::take(const schedule::part& part, const address_space& memory,
                const host_ranges& registered) {
  const auto& item = *part.item;
  kind_ = item.kind;
  side_ = part.side;
  to_ = item.to;
  from_ = item.from;
  bytes_ = item.bytes;
  switch (kind_) {
    case work_kind::copy_in:
      to_ = memory.translate(item.to, bytes_, access::write);
      return to_ != nullptr && registered.holds({from_, bytes_});
    case work_kind::copy_out:
      from_ = memory.translate(item.from, bytes_, access::read);
      return from_ != nullptr && registered.holds({to_, bytes_});
    case work_kind::copy:
      to_ = memory.translate(item.to, bytes_, access::write);
      from_ = memory.translate(item.from, bytes_, access::read);
      return to_ != nullptr && from_ != nullptr;
    case work_kind::clear:
      to_ = memory.translate(item.to, bytes_, access::write);
      return to_ != nullptr;
    case work_kind::find:
      to_ = memory.translate(item.to, sizeof(std::uint64_t), access::write);
      from_ = memory.translate(item.from, bytes_, access::read);
      return to_ != nullptr && from_ != nullptr;
    case work_kind::launch:
      return take_launch(item.launch, memory);
    case work_kind::step_rows:
      return take_rows(item.step_rows, memory, registered);
    case work_kind::copy_rows:
      return take_rows(item.copy_rows, memory, registered);
    case work_kind::record:
    case work_kind::wait:
      return true;
  }
  return false;
}

bool task::take_launch(const kept_launch& launch, const address_space& memory) {
  launch_ = launch;
  auto& arrays = launch_.call.arrays;
  bool is_ours = true;
  const auto move = [&](auto*& array, std::size_t bytes, access use) {
    if (array == nullptr) return;
    auto* at = memory.translate(array, bytes, use);
    is_ours = is_ours && at != nullptr;
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(at);
  };
  const auto bytes = arrays.n * sizeof(float);
  move(arrays.before, bytes, access::read);
  move(arrays.after, bytes, access::write);
  move(arrays.state1, bytes, access::write);
  move(arrays.state2, bytes, access::write);
  move(arrays.sum, bytes, access::write);
  for (std::size_t i = 0; i < launch_.count; ++i) {
    auto& input = launch_.inputs[i];
    input.data =
        memory.translate(input.data, arrays.n * kernels::size_of(input.type), access::read);
    is_ours = is_ours && input.data != nullptr;
  }
  return is_ours;
}

namespace {

// The rows of a list that a half of a launch goes over.
template <class Row>
std::span<const Row> rows_of_half(const Row* rows, std::size_t count, half side,
                                  const address_space& memory) {
  const auto* const all =
      reinterpret_cast<const Row*>(memory.translate(rows, count * sizeof(Row), access::read));
  if (all == nullptr) return {};
  const auto middle = count / 2;
  return side == half::first ? std::span(all, middle) : std::span(all + middle, count - middle);
}

// Lets `at` be where work reaches these floats. Returns false if they are not the device's.
template <class Float>
bool find(Float*& at, std::size_t floats, access use, const address_space& memory,
          const host_ranges& registered) {
  const auto bytes = floats * sizeof(float);
  if (registered.holds({reinterpret_cast<const std::byte*>(at), bytes})) return true;
  at = reinterpret_cast<Float*>(memory.translate(at, bytes, use));
  return at != nullptr;
}

}  // namespace

bool task::take_rows(const row_step_launch& call, const address_space& memory,
                     const host_ranges& registered) {
  step_ = call;
  const auto rows = rows_of_half(call.rows, call.count, side_, memory);
  steps_.assign(rows.begin(), rows.end());
  const auto& columns = call.columns;
  const auto state = state_floats({.kind = call.step.kind}, columns.columns);
  bool is_ours = rows.data() != nullptr;
  for (auto& row : steps_) {
    row.values += columns.first;
    row.gradient += columns.first;
    is_ours = is_ours && find(row.values, columns.columns, access::write, memory, registered) &&
              find(row.gradient, columns.columns, access::read, memory, registered);
    if (state == 0) continue;
    row.state += columns.state;
    is_ours = is_ours && find(row.state, state, access::write, memory, registered);
  }
  return is_ours;
}

bool task::take_rows(const row_copy_launch& call, const address_space& memory,
                     const host_ranges& registered) {
  copy_ = call;
  const auto rows = rows_of_half(call.rows, call.count, side_, memory);
  row_copies_.assign(rows.begin(), rows.end());
  bool is_ours = rows.data() != nullptr;
  for (auto& row : row_copies_) {
    constexpr std::size_t vector_bytes = 16;
    const auto places =
        reinterpret_cast<std::uintptr_t>(row.to) | reinterpret_cast<std::uintptr_t>(row.from);
    is_ours =
        is_ours && (!call.is_aligned || places % vector_bytes == 0) &&
        find(row.to, call.floats, access::write, memory, registered) &&
        (row.from == nullptr || find(row.from, call.floats, access::read, memory, registered));
  }
  return is_ours;
}

void task::step_rows() const {
  const auto columns = step_.columns.columns;
  const auto state = state_floats({.kind = step_.step.kind}, columns);
  for (const auto& row : steps_)
    step_row(step_.step, {row.gradient, columns}, {row.values, columns}, {row.state, state});
}

void task::copy_rows() const {
  for (const auto& row : row_copies_) {
    if (row.from == nullptr)
      std::fill_n(row.to, copy_.floats, 0.0F);
    else
      std::copy_n(row.from, copy_.floats, row.to);
  }
}

void task::carry_out() const {
  const auto middle = bytes_ / 2;
  const auto begin = side_ == half::first ? 0 : middle;
  const auto size = side_ == half::first ? middle : bytes_ - middle;
  switch (kind_) {
    case work_kind::copy_in:
    case work_kind::copy_out:
    case work_kind::copy:
      std::memcpy(to_ + begin, from_ + begin, size);
      break;
    case work_kind::clear:
      std::memset(to_ + begin, 0, size);
      break;
    case work_kind::find:
      carry_out_find();
      break;
    case work_kind::launch:
      carry_out_launch();
      break;
    case work_kind::step_rows:
      step_rows();
      break;
    case work_kind::copy_rows:
      copy_rows();
      break;
    case work_kind::record:
    case work_kind::wait:
      break;
  }
}

// Who looks too early finds a number that is not finite where there may be none.
void task::carry_out_find() const {
  std::uint64_t first = 0;
  if (side_ == half::second)
    first = kernels::first_not_finite(reinterpret_cast<const float*>(from_),
                                      bytes_ / sizeof(float));
  std::memcpy(to_, &first, sizeof first);
}

void task::carry_out_launch() const {
  auto arrays = launch_.call.arrays;
  const auto middle = arrays.n / 2;
  const auto begin = side_ == half::first ? 0 : middle;
  arrays.n = side_ == half::first ? middle : arrays.n - middle;
  if (arrays.n == 0) return;
  for (auto** array : {&arrays.after, &arrays.state1, &arrays.state2, &arrays.sum})
    if (*array != nullptr) *array += begin;
  if (arrays.before != nullptr) arrays.before += begin;
  std::array<kernels::gradient, launch_inputs_max> inputs;
  const auto all = launch_.all_inputs();
  std::transform(all.begin(), all.end(), inputs.begin(), [&](kernels::gradient input) {
    input.data =
        static_cast<const std::byte*>(input.data) + begin * kernels::size_of(input.type);
    return input;
  });
  const std::span<const kernels::gradient> part(inputs.data(), all.size());
  auto powers = launch_.call.powers;
  if (launch_.call.kind == update_launch::step::assign)
    kernels::assign_sum(part, arrays, kernels::combination_of(launch_.call.options));
  else
    kernels::apply_update(launch_.call.options, powers, part, launch_.call.scale, arrays);
}

}  // namespace tidegate::runtime::devices
