// A process that shows memory of its device to another one, and is killed.
#pragma once

#include <cstddef>
#include <unistd.h>

#include "runtime/device/device.hpp"

namespace tidegate::tests {

// Returns the byte at an index of the memory that is shown.
inline std::byte shown_byte(std::size_t i) {
  return static_cast<std::byte>((i * 2'654'435'761U) >> 13);
}

// Fills memory of the device by work of its own, writes the name of its window to `names` when
// an event says that all is there, and waits to be killed. Ends the process where that fails.
[[noreturn]] inline void show_window(runtime::devices::device& on, std::size_t bytes,
                                     int names) {
  auto host = on.allocate_host(bytes);
  auto memory = on.allocate(bytes);
  const auto a = on.make_stream();
  const auto end = on.make_event();
  if (!host || !memory || !a || !end) ::_exit(1);
  for (std::size_t i = 0; i < bytes; ++i) host->bytes()[i] = shown_byte(i);
  if (!on.copy_in(*a, memory->data(), host->bytes()).ok() || !on.record(*a, *end).ok())
    ::_exit(2);
  while (!on.has_ended(*end).value_or(true)) continue;
  const auto name = on.name_window(*memory);
  if (!name || ::write(names, name->bytes.data(), sizeof name->bytes) < 0) ::_exit(3);
  while (true) ::pause();
}

// Returns true if the device reads at `data` what show_window() has written.
inline bool reads_shown(runtime::devices::device& on, runtime::devices::stream a,
                        const std::byte* data, std::size_t bytes) {
  auto host = on.allocate_host(bytes);
  if (!host || !on.copy_out(a, host->bytes(), data).ok() || !on.synchronize().ok())
    return false;
  for (std::size_t i = 0; i < bytes; ++i)
    if (host->bytes()[i] != shown_byte(i)) return false;
  return true;
}

}  // namespace tidegate::tests
