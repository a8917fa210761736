#include "runtime/recorder/span_recorder.hpp"

#include <charconv>
#include <memory>
#include <string_view>
#include <unistd.h>

#include "runtime/base/launch_variables.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::runtime {

namespace {

std::atomic<span_recorder*> own = nullptr;

// Once a process: the descriptor's number may be another file's after it is closed.
std::unique_ptr<span_recorder> take_ring(std::uint64_t token) {
  const char* value = launch_variable(spans_variable);
  const std::string_view text(value == nullptr ? "" : value);
  int fd = -1;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (text.empty() || number.ec != std::errc()) return nullptr;
  auto ring = span_ring::open(fd, token);
  if (!ring) {
    log::warn("no traces: " + ring.error().message());
    return nullptr;
  }
  ::close(fd);
  return std::make_unique<span_recorder>(std::move(*ring));
}

}  // namespace

// Never destroyed: threads may note something while the process ends.
void span_recorder::begin(std::uint64_t token) {
  static auto* const recorder = take_ring(token).release();
  own.store(recorder, std::memory_order_release);
}

span_recorder* span_recorder::of_process() noexcept {
  return own.load(std::memory_order_acquire);
}

}  // namespace tidegate::runtime
