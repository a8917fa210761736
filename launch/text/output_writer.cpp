#include "launch/text/output_writer.hpp"

#include <cerrno>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t behind_bytes = std::size_t{64} << 10U;

// A reader that is gone is passed over.
void write_text(int fd, std::string_view rest) {
  while (!rest.empty()) {
    const auto written = ::write(fd, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // whoever shares the terminal has made it so
      pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

output_writer::~output_writer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void output_writer::write(int fd, std::string text) {
  if (text.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    bytes_ += text.size();
    unwritten_.push_back({fd, std::move(text)});
  }
  if (!thread_.joinable()) thread_ = runtime::start_service_thread([this] { run(); });
  changed_.notify_all();
}

void output_writer::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unwritten_.empty(); });
}

bool output_writer::is_behind() const {
  const std::lock_guard lock(mutex_);
  return bytes_ > behind_bytes;
}

void output_writer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !unwritten_.empty(); });
    if (unwritten_.empty()) return;
    const auto& next = unwritten_.front();  // nobody else takes it away
    lock.unlock();
    write_text(next.fd, next.text);
    lock.lock();
    bytes_ -= next.text.size();
    unwritten_.pop_front();
    if (unwritten_.empty()) changed_.notify_all();
  }
}

}  // namespace tidegate::launch
