// A thread that alternates transport progress with running the actors that live on it.
//
// A CAF execution unit: an actor whose class derives from reactor_actor (reactor_actor.hpp)
// runs here and nowhere else, on the thread that owns the link. Frames become messages in its
// mailbox and are handled on the same thread. When nothing happens for a while the thread arms
// the link's descriptor and sleeps in epoll, together with an eventfd for messages from other
// threads.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

using link_factory = std::function<runtime::expected<std::unique_ptr<runtime::link>>()>;

class reactor final : public caf::execution_unit {
 public:
  // Starts the thread and makes the link on it. Errors: those of the factory.
  static runtime::expected<std::unique_ptr<reactor>> start(caf::actor_system& system,
                                                           const link_factory& make_link);
  // Stops and joins. Actors that live here must have ended or are dropped unfinished.
  ~reactor() override;

  // Any thread.
  void exec_later(caf::resumable* job) override;
  // Any thread: ends the loop once what is ready has run; frames already posted are sent.
  void stop();

  // Of the reactor's thread, all but address().
  runtime::link& link() noexcept { return *link_; }
  // The actor that serves the link's frames takes it (first turn) and gives it up (on exit):
  // frames are progressed only in between, so the sink may go right after.
  void open_link(runtime::frame_sink* sink);
  // `flush_ms_max`: how long to wait for what was posted; 0: break off at once.
  void close_link(std::uint32_t flush_ms_max = 500);
  const std::string& address() const noexcept { return address_; }

 private:
  explicit reactor(caf::actor_system& system);
  void loop();
  bool run_ready();
  void take_remote();
  // False when the machine is so busy that yielding would cost time slices.
  bool yield();
  void nap();
  // False when the link had something to do after all.
  bool sleep();
  void drain_wake();
  void watch(int fd);

  std::unique_ptr<runtime::link> link_;
  std::string address_;
  bool link_open_ = false;
  std::chrono::steady_clock::time_point contended_until_{};
  std::deque<caf::resumable*> ready_;  // this thread's

  std::mutex mutex_;  // guards remote_
  std::vector<caf::resumable*> remote_;
  std::vector<caf::resumable*> taken_;
  std::atomic<bool> remote_waits_{false};
  std::atomic<bool> stopping_{false};
  int wake_fd_ = -1;
  int epoll_fd_ = -1;
  std::thread thread_;
  std::atomic<std::thread::id> owner_;
};

}  // namespace tidegate::actors
