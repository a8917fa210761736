// A session whose tables are on a device.
#include <algorithm>
#include <string>
#include <utility>

#include "actors/session/session_impl.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;

status session_impl::use_device(const session_device& wanted) {
  if (auto usable = check_usable(); !usable.ok()) return usable;
  worker_command command;
  command.kind = worker_command::action::use_device;
  command.stream = wanted.stream;
  if (devices_ && devices_->device_name() != wanted.name)
    return {errc::invalid_argument, "this session uses " + devices_->device_name() +
                                        " already, and " + wanted.name +
                                        " would be another; use one per process"};
  if (!devices_) {
    auto opened = parts_.open_device(wanted.name);
    if (!opened) return opened.error();
    auto tables = device_tables::make(std::move(*opened), wanted.stream);
    if (!tables) return tables.error();
    command.devices = devices_ = std::move(*tables);
  }
  return start(std::move(command)).wait();
}

expected<device_span> session_impl::device_gradient(const table& where) {
  if (!is_on_device(where))
    return runtime::fail(errc::not_found,
                         "the gradient of a table that this session did not open on a device");
  if (auto credit = room(); !credit.ok()) return runtime::fail(credit);
  return device_span{devices_->gradient(where.id, half()), where.size};
}

const_device_span session_impl::device_parameters(const table& where) const {
  if (!is_on_device(where)) return {};
  const auto* found = devices_->parameters(where.id);
  return {found, found == nullptr ? 0 : where.size};
}

status session_impl::check_device(const table& where, std::uint64_t elements,
                                  const char* doing) const {
  if (auto checked = check(where, elements, doing); !checked.ok()) return checked;
  if (is_on_device(where)) return {};
  return {
      errc::invalid_argument,
      std::string(doing) + " of table '" + shell_.core().table(where.id)->name +
          "' with memory of a device; the table is on the host: open it after use_device()"};
}

pending session_impl::pull_to_device(const table& where, float* into) {
  worker_command command;
  command.kind = worker_command::action::pull;
  command.table = where.id;
  command.device_memory = into;
  return start(std::move(command));
}

status session_impl::copy_piece(worker_command::action kind, float* on_device,
                                std::size_t elements) {
  worker_command command;
  command.kind = kind;
  command.device_memory = on_device;
  command.elements = elements;
  return start(std::move(command)).wait();
}

status session_impl::copy(device_span to, std::span<const float> from) {
  if (!devices_ || to.size != from.size())
    return {errc::invalid_argument,
            "a copy to a device, of as many elements, in a session that "
            "uses one"};
  for (std::size_t at = 0; at < from.size();) {
    const auto elements = std::min(from.size() - at, device_tables::bounce_elements);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), elements,
                devices_->bounce().begin());
    if (auto copied =
            copy_piece(worker_command::action::copy_to_device, to.data + at, elements);
        !copied.ok())
      return copied;
    at += elements;
  }
  return {};
}

status session_impl::copy(std::span<float> to, const_device_span from) {
  if (!devices_ || to.size() != from.size)
    return {errc::invalid_argument,
            "a copy from a device, of as many elements, in a session "
            "that uses one"};
  for (std::size_t at = 0; at < to.size();) {
    const auto elements = std::min(to.size() - at, device_tables::bounce_elements);
    if (auto copied = copy_piece(worker_command::action::copy_from_device,
                                 const_cast<float*>(from.data) + at, elements);
        !copied.ok())
      return copied;
    std::copy_n(devices_->bounce().begin(), elements,
                to.begin() + static_cast<std::ptrdiff_t>(at));
    at += elements;
  }
  return {};
}

}  // namespace tidegate::actors
