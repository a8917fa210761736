// A worker on the same device as a queue, which reads parameters through windows. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/updates/update_queue.hpp"
#include "tests/runtime/device/updates/patience.hpp"

namespace tidegate::tests {

class window_reader {
 public:
  explicit window_reader(runtime::devices::device& on) : device_(on) {}

  // Opens the windows of a table, unless it has none.
  runtime::status open(const runtime::devices::update_queue& queue,
                       runtime::devices::chunk_index first, std::uint32_t version_buffers) {
    const auto reader = device_.make_stream();
    const auto seen = device_.make_event();
    if (!reader) return reader.error();
    if (!seen) return seen.error();
    reader_ = *reader;
    seen_ = *seen;
    for (std::uint32_t i = 0; i < version_buffers; ++i) {
      const auto place = queue.place_of(first, i);
      if (!place) return {};
      auto window = device_.open_window(place->name);
      if (!window) return window.error();
      windows_.push_back(std::move(*window));
      offsets_.push_back(place->offset);
    }
    return {};
  }
  bool is_open() const { return !windows_.empty(); }

  // Reads from an offset of a version buffer, into registered memory. Returns whether that has
  // ended; nothing if the device is lost.
  std::optional<bool> read(std::uint32_t version_buffer, std::uint64_t offset,
                           std::span<std::byte> to) {
    const auto* const from =
        windows_[version_buffer].data() + offsets_[version_buffer] + offset;
    if (!device_.copy_out(reader_, to, from).ok() || !device_.record(reader_, seen_).ok())
      return {};
    patience waiting;
    while (!waiting.is_over()) {
      const auto ended = device_.has_ended(seen_);
      if (!ended) return {};
      if (*ended) return true;
    }
    return false;
  }

 private:
  runtime::devices::device& device_;
  runtime::devices::stream reader_{};
  runtime::devices::event seen_{};
  std::vector<runtime::devices::device_memory> windows_;  // by version buffer
  std::vector<std::uint64_t> offsets_;
};

}  // namespace tidegate::tests
