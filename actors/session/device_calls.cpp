#include "actors/session/device_calls.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/session/session_impl.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;

status device_calls::use(const session_device& wanted) {
  if (auto usable = session_.check_usable(); !usable.ok()) return usable;
  worker_command command;
  command.kind = worker_command::action::use_device;
  command.stream = wanted.stream;
  if (tables_ && tables_->device_name() != wanted.name)
    return {errc::invalid_argument, "this session uses " + tables_->device_name() +
                                        " already, and " + wanted.name +
                                        " would be another; use one per process"};
  if (!tables_) {
    auto opened = session_.parts_.open_device(wanted.name);
    if (!opened) return opened.error();
    auto tables = device_tables::make(std::move(*opened), wanted.stream);
    if (!tables) return tables.error();
    command.devices = tables_ = std::move(*tables);
  }
  return session_.start(std::move(command)).wait();
}

std::shared_ptr<table_addresses> device_calls::new_addresses() const {
  return tables_ ? std::make_shared<table_addresses>() : nullptr;
}

void device_calls::end_parameters(std::uint32_t table) {
  const auto at = addresses_.find(table);
  if (at != addresses_.end()) at->second->parameters = nullptr;
}

expected<device_span> device_calls::gradient(const table& where) {
  if (!has(where))
    return runtime::fail(errc::not_found,
                         "the gradient of a table that this session did not open on a device");
  if (auto credit = session_.room(); !credit.ok()) return runtime::fail(credit);
  return device_span{addresses_.at(where.id)->gradients[session_.half()], where.size};
}

const_device_span device_calls::parameters(const table& where) const {
  if (!has(where)) return {};
  const float* found = addresses_.at(where.id)->parameters;
  return {found, found == nullptr ? 0 : where.size};
}

status device_calls::check(const table& where, std::uint64_t elements,
                           const char* doing) const {
  if (auto checked = session_.check(where, elements, doing); !checked.ok()) return checked;
  if (has(where)) return {};
  return {
      errc::invalid_argument,
      std::string(doing) + " of table '" + session_.shell_.core().table(where.id)->name +
          "' with memory of a device; the table is on the host: open it after use_device()"};
}

pending device_calls::pull(const table& where, float* into,
                           policies::worker_core::extent wanted) {
  end_parameters(where.id);
  worker_command command;
  command.kind = worker_command::action::pull;
  command.table = where.id;
  command.device_memory = into;
  command.extent = wanted;
  return session_.start(std::move(command));
}

// One at a time: bounce() is one, too.
status device_calls::copy_piece(worker_command::action kind, float* on_device,
                                std::size_t elements) {
  worker_command command;
  command.kind = kind;
  command.device_memory = on_device;
  command.elements = elements;
  copying_ = session_.start(std::move(command));
  return settle();
}

status device_calls::settle() {
  if (!copying_) return {};
  auto outcome = copying_->wait();
  if (copying_->ready()) copying_.reset();
  return outcome;
}

template <class Piece>
status device_calls::copy_in_pieces(std::uint64_t size, std::uint64_t other,
                                    const Piece& piece) {
  if (!tables_ || size != other)
    return {errc::invalid_argument,
            "a copy from or to a device, of as many elements, in a session that uses one"};
  if (auto settled = settle(); copying_) return settled;
  for (std::uint64_t at = 0; at < size; at += device_tables::bounce_elements) {
    const auto elements = std::min<std::uint64_t>(size - at, device_tables::bounce_elements);
    if (auto copied = piece(at, elements); !copied.ok()) return copied;
  }
  return {};
}

status device_calls::copy(device_span to, std::span<const float> from) {
  return copy_in_pieces(to.size, from.size(), [&](std::uint64_t at, std::uint64_t elements) {
    std::ranges::copy(from.subspan(at, elements), tables_->bounce().begin());
    return copy_piece(worker_command::action::copy_to_device, to.data + at, elements);
  });
}

status device_calls::copy(std::span<float> to, const_device_span from) {
  return copy_in_pieces(to.size(), from.size, [&](std::uint64_t at, std::uint64_t elements) {
    auto copied = copy_piece(worker_command::action::copy_from_device,
                             const_cast<float*>(from.data) + at, elements);
    if (copied.ok())
      std::ranges::copy(tables_->bounce().first(elements), to.subspan(at).begin());
    return copied;
  });
}

}  // namespace tidegate::actors
