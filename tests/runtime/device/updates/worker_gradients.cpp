#include "tests/runtime/device/updates/worker_gradients.hpp"

#include <cstring>
#include <utility>

#include "tests/runtime/device/updates/patience.hpp"

namespace tidegate::tests {

using namespace runtime::devices;
namespace kernels = runtime::kernels;
using runtime::mix64;

namespace {

constexpr int no_number = 0xff;

void fill(std::vector<std::byte>& values, kernels::element type, std::uint64_t key) {
  const auto elements = values.size() / size_of(type);
  const auto put = [&](std::size_t i, auto x) {
    std::memcpy(values.data() + i * sizeof x, &x, sizeof x);
  };
  // Halves are below 1.
  const auto mask = type == kernels::element::float16 ? 0xbbffU : 0xbf7fU;
  for (std::size_t i = 0; i < elements; ++i) {
    if (type == kernels::element::float32)
      put(i, runtime::uniform_signed(key, i));
    else
      put(i, static_cast<std::uint16_t>(mix64(key ^ mix64(i)) & mask));
  }
}

}  // namespace

runtime::status worker_gradients::set_up(device& on) {
  device_ = &on;
  auto on_device = on.allocate(items_.size() * bytes_);
  if (!on_device) return on_device.error();
  auto host = on.allocate_host((items_.size() + 1) * bytes_);
  if (!host) return host.error();
  const auto worker = on.make_stream();
  if (!worker) return worker.error();
  const auto written = on.make_event();
  if (!written) return written.error();
  on_device_ = std::move(*on_device);
  host_ = std::move(*host);
  worker_ = *worker;
  written_ = *written;
  no_numbers_ = host_.bytes().last(bytes_);
  std::memset(no_numbers_.data(), no_number, bytes_);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    auto& item = items_[i];
    item.place = static_cast<input_place>(i % 3);
    item.scratch = host_.bytes().data() + i * bytes_;
    item.pageable.resize(bytes_);
    item.data = item.place == input_place::device       ? on_device_.data() + i * bytes_
                : item.place == input_place::registered ? item.scratch
                                                        : item.pageable.data();
  }
  return {};
}

std::size_t worker_gradients::write(std::size_t first, std::size_t elements,
                                    kernels::element type, std::uint64_t key,
                                    bool is_on_device) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto index = (first + i) % items_.size();
    auto& item = items_[index];
    if (!item.is_free || (is_on_device && item.place != input_place::device)) continue;
    item.is_free = false;
    item.type = type;
    item.values.resize(elements * size_of(type));
    fill(item.values, type, key);
    if (item.place == input_place::device)
      send(item);
    else
      std::memcpy(item.data, item.values.data(), item.values.size());
    return index;
  }
  return items_.size();
}

// A worker says that its gradient is there when its event has ended. On a device that is lost
// nothing is sent.
void worker_gradients::send(gradient_memory& item) {
  std::memcpy(item.scratch, item.values.data(), item.values.size());
  if (!device_->copy_in(worker_, item.data, {item.scratch, item.values.size()}).ok() ||
      !device_->record(worker_, written_).ok())
    return;
  patience waiting;
  while (!device_->has_ended(written_).value_or(true))
    if (is_stuck_ = waiting.is_over(); is_stuck_) return;
}

step_input worker_gradients::input(std::size_t index, std::uint32_t rank) const {
  const auto& item = items_[index];
  return {.gradient = {.data = item.data, .rank = rank, .type = item.type},
          .place = item.place};
}

void worker_gradients::give_back(std::size_t index) {
  auto& item = items_[index];
  const auto bytes = item.values.size();
  if (item.place == input_place::device)
    static_cast<void>(device_->copy_in(worker_, item.data, no_numbers_.first(bytes)));
  else
    std::memset(item.data, no_number, bytes);
  item.is_free = true;
}

}  // namespace tidegate::tests
