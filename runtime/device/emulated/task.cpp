#include "runtime/device/emulated/task.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

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
