#include "runtime/heartbeat/heartbeat.hpp"

#include <charconv>
#include <chrono>
#include <string_view>
#include <unistd.h>

#include "runtime/base/launch_variables.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::runtime {

namespace {

struct wish {
  int fd = -1;
  std::uint32_t interval_ms = 0;  // 0: none
};

wish read_wish() {
  const char* value = launch_variable(heartbeat_variable);
  const std::string_view text(value == nullptr ? "" : value);
  wish result;
  const auto* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, result.fd);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':') return {};
  const auto rest = std::from_chars(number.ptr + 1, end, result.interval_ms);
  return rest.ec == std::errc() && rest.ptr == end ? result : wish{};
}

// Once a process: the descriptor's number may be another file's after it is closed.
std::shared_ptr<beat_page> take_page(int fd, std::uint64_t token) {
  auto page = beat_page::open(fd, token);
  if (!page) {
    log::warn("no heartbeats: " + page.error().message());
    return nullptr;
  }
  ::close(fd);
  return std::make_shared<beat_page>(std::move(*page));
}

}  // namespace

std::string heartbeat_text(int fd, std::uint32_t interval_ms) {
  return std::to_string(fd) + ":" + std::to_string(interval_ms);
}

std::unique_ptr<heartbeat> heartbeat::of_process(std::uint64_t token) {
  const auto asked = read_wish();
  if (asked.interval_ms == 0) return nullptr;
  static const auto page = take_page(asked.fd, token);
  return page ? std::make_unique<heartbeat>(page, asked.interval_ms) : nullptr;
}

heartbeat::heartbeat(std::shared_ptr<beat_page> page, std::uint32_t interval_ms)
    : page_(std::move(page)), thread_(std::chrono::milliseconds(interval_ms), [this] {
        page_->record().beats.fetch_add(1);
      }) {}

heartbeat::~heartbeat() {
  thread_.end();
  page_->record().beats.store(0);
}

}  // namespace tidegate::runtime
