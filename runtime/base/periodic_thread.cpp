#include "runtime/base/periodic_thread.hpp"

#include <utility>

#include "runtime/base/service_thread.hpp"

namespace tidegate::runtime {

periodic_thread::periodic_thread(std::chrono::milliseconds pause, std::function<void()> turn)
    : pause_(pause), turn_(std::move(turn)) {
  thread_ = start_service_thread([this] { run(); });
}

void periodic_thread::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void periodic_thread::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    turn_();
    lock.lock();
    changed_.wait_for(lock, pause_, [this] { return ending_; });
  }
}

}  // namespace tidegate::runtime
