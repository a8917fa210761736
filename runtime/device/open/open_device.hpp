// Opens a device by its name: the only place that knows all backends.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices {

// "cuda:N": a GPU of those that this process sees. "emulated:N": threads that behave like one;
// their delays are draws of seed N. Opening a GPU may take seconds; an error comes at once.
// Errors: invalid_argument (no such name), not_found (fewer GPUs than that), unavailable (what
// the program or the machine lacks).
expected<std::unique_ptr<device>> open_device(std::string_view name);

// Returns ok if open_device() may succeed, without taking anything on the device. Errors: those
// of open_device().
status check_device(std::string_view name);

}  // namespace tidegate::runtime::devices
