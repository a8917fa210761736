#include "runtime/rows/page_maker.hpp"

#include <system_error>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::runtime::rows {

std::shared_ptr<page_maker> page_maker::of_process() {
  static std::mutex guard;
  static std::weak_ptr<page_maker> known;
  const std::lock_guard lock(guard);
  if (auto maker = known.lock()) return maker;
  auto maker = std::make_shared<page_maker>();
  known = maker;
  return maker;
}

page_maker::~page_maker() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// The caller holds the mutex.
bool page_maker::start() {
  if (thread_.joinable() || has_failed_) return !has_failed_;
  try {
    thread_ = start_service_thread([this] { run(); });
  } catch (const std::system_error& error) {
    log::warn(std::string("pages of tables are made when they are needed: no thread: ") +
              error.what());
    has_failed_ = true;
    return false;
  }
  return true;
}

bool page_maker::ask(const std::shared_ptr<const segment>& memory, std::uint64_t offset,
                     std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (put_ - done_ == asked_max || !start()) return false;
    asked_[put_++ % asked_max] = {.memory = memory, .offset = offset, .bytes = bytes};
  }
  changed_.notify_all();
  return true;
}

void page_maker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_ == put_; });
}

void page_maker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || done_ != put_; });
    if (ends_) return;
    auto next = std::exchange(asked_[done_ % asked_max], {});
    lock.unlock();
    // The table may go meanwhile: then its memory goes here.
    if (const auto memory = next.memory.lock()) memory->prepare(next.offset, next.bytes);
    next = {};
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace tidegate::runtime::rows
