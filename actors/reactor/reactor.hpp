// A thread that alternates transport progress with running the actors that live on it.
//
// A CAF execution unit: an actor whose class derives from reactor_actor (reactor_actor.hpp)
// runs here and nowhere else, on the thread that owns the link. Frames become messages in its
// mailbox and are handled on the same thread. When nothing happens for a while the thread arms
// the link's descriptor and sleeps in epoll, together with an eventfd for messages from other
// threads.
//
// A thread that waits for the reactor's work anyway can do that work: as an inline driver it
// drives the reactor in place of the reactor's own thread, which saves two context switches
// each way. At any moment one thread drives; "the reactor's thread" below is that one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <caf/execution_unit.hpp>
#include <caf/fwd.hpp>

#include "actors/control/interrupt_check.hpp"
#include "actors/reactor/core_contention.hpp"
#include "actors/reactor/futile_wakeups.hpp"
#include "actors/seam/shell_home.hpp"
#include "runtime/base/record_clock.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/fork_count.hpp"
#include "runtime/process/stall_watch.hpp"
#include "runtime/recorder/span_recorder.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

using link_factory = std::function<runtime::expected<std::unique_ptr<runtime::link>>()>;

class reactor final : public caf::execution_unit {
 public:
  // Starts the thread and makes the link on it. Errors: those of the factory.
  // `host`: see peer_address.hpp; 0 shares memory with nobody.
  static runtime::expected<std::unique_ptr<reactor>> start(caf::actor_system& system,
                                                           const link_factory& make_link,
                                                           std::uint64_t host);
  // Stops and joins. Actors that live here must have ended or are dropped unfinished.
  ~reactor() override;

  // Any thread.
  void exec_later(caf::resumable* job) override;
  // Any thread: ends the loop once what is ready has run; frames already posted are sent.
  void stop();

  // Drives the reactor from the calling thread for as long as it lives. One at a time per
  // thread; a second thread waits for the first.
  class inline_driver {
   public:
    explicit inline_driver(reactor& home);
    ~inline_driver();
    inline_driver(const inline_driver&) = delete;
    inline_driver& operator=(const inline_driver&) = delete;

    // Runs what is ready; false when there was nothing.
    bool turn() { return home_.turn(); }
    // Runs until `done` returns true; sleeps when there is nothing to do. `patient`: see
    // link::set_patient. Returns false if the interrupt of set_interrupt() ended it before.
    template <class Done>
    bool run_until(const Done& done, bool patient = false) {
      if (done()) return true;
      const waiting_time waits(home_);
      for (bool worked = true; !done();) {
        const bool busy = turn();
        if (!busy) {
          home_.wait(worked, patient, home_.interrupted_.is_set());
          if (home_.interrupted_()) return false;
        }
        worked = busy;
      }
      return true;
    }

   private:
    reactor& home_;
  };

  // Returns for how long threads have been in run_until(), in sum. Any thread.
  std::uint64_t waited_ns() const noexcept {
    return waited_ns_.load(std::memory_order_relaxed);
  }

  // Returns for how long they have by `now`, that of a wait which goes on included. Any thread.
  std::int64_t waited_by(std::int64_t now) const noexcept {
    const auto since = waits_since_.load(std::memory_order_relaxed);
    return static_cast<std::int64_t>(waited_ns()) +
           (since == 0 ? 0 : std::max<std::int64_t>(0, now - since));
  }

  // Returns for how long this process was stopped. Any thread.
  std::uint64_t stopped_ns() const noexcept { return stalls_->stopped_ns(); }

  // Returns false in a process that was forked from the reactor's: there it must be left alone,
  // and neither be driven nor destroyed. Any thread.
  bool is_of_this_process() const { return runtime::fork_count() == forks_; }

  // Has waits of inline drivers ask this now and then. Call it while nobody drives inline.
  void set_interrupt(interrupt_check interrupted) { interrupted_ = std::move(interrupted); }

  // Whether the reactor's own thread goes on when no inline driver drives. Off when nothing
  // happens that an inline driver would not wait for; on at first. Any thread.
  void run_in_background(bool on);

  using continuation = actors::continuation;
  // Calls next.go_on() once, on the reactor's thread, after the link's next progress. A message
  // to oneself would not do: CAF gives an actor those in the same turn.
  void after_progress(continuation& item) { put_off_.push_back(&item); }
  // Likewise before it, when the actors that are ready now have run.
  void before_progress(continuation& item) { ending_.push_back(&item); }
  void forget(const continuation& item) {
    std::erase(put_off_, &item);
    std::erase(ending_, &item);
  }

  // Notes what this process does; or null. Any thread.
  runtime::span_recorder* recorder() const noexcept { return recorder_; }

  // Of the reactor's thread, all but address().
  runtime::link& link() noexcept { return *link_; }
  // The actor that serves the link's frames takes it (first turn) and gives it up (on exit):
  // frames are progressed only in between, so the sink may go right after.
  void open_link(runtime::frame_sink* sink);
  // Connects the link to the process at this address (peer_address.hpp). Errors: those of
  // link::connect.
  runtime::expected<runtime::peer_id> connect(const std::string& address);
  // `flush_ms_max`: how long to wait for what was posted; 0: break off at once.
  void close_link(std::uint32_t flush_ms_max = 500);
  const std::string& address() const noexcept { return address_; }

 private:
  // Counts towards waited_ns().
  class waiting_time {
   public:
    explicit waiting_time(reactor& home) : home_(home), since_(runtime::record_now()) {
      home_.waits_since_.store(since_, std::memory_order_relaxed);
    }
    ~waiting_time() {
      const auto now = runtime::record_now();
      home_.waits_since_.store(0, std::memory_order_relaxed);
      if (now <= since_) return;
      home_.waited_ns_.fetch_add(static_cast<std::uint64_t>(now - since_),
                                 std::memory_order_relaxed);
      if (home_.recorder_ != nullptr)
        home_.recorder_->add(
            {.begin_ns = since_, .end_ns = now, .kind = runtime::span_kind::wait});
    }
    waiting_time(const waiting_time&) = delete;
    waiting_time& operator=(const waiting_time&) = delete;

   private:
    reactor& home_;
    std::int64_t since_;
  };

  explicit reactor(caf::actor_system& system);
  void loop();
  bool turn();
  bool run_ready();
  void take_remote();
  bool run_put_off();
  void end_turn();
  // One step of waiting; `after_work`: the first one since there was something to do;
  // `briefly`: no longer than interrupt_check::interval.
  void wait(bool after_work, bool patient = false, bool briefly = false);
  // False when it is time to sleep.
  bool yield(bool after_work);
  void sleep(bool patient, bool briefly);
  void drain_wake();
  void pause();
  void wake();
  void watch(int fd);

  bool work_waits() const;
  void enter();
  void leave();
  // The reactor's own thread: waits for its turn.
  void take_drive();
  void give_drive();

  runtime::span_recorder* const recorder_ = runtime::span_recorder::of_process();
  std::unique_ptr<runtime::link> link_;
  std::string address_;
  bool link_open_ = false;
  core_contention contention_;
  std::chrono::steady_clock::time_point idle_since_{};
  futile_wakeups futile_;
  std::deque<caf::resumable*> ready_;   // the driver's
  std::vector<continuation*> put_off_;  // likewise
  std::vector<continuation*> going_on_;
  std::vector<continuation*> ending_;  // before progress

  std::mutex mutex_;  // guards remote_
  std::vector<caf::resumable*> remote_;
  // Threads inside exec_later(). What they bring may end its actor, and with it the last use of
  // the reactor, before they have woken the driver: the destructor waits for them.
  std::atomic<unsigned> senders_{0};
  std::vector<caf::resumable*> taken_;
  std::atomic<bool> remote_waits_{false};
  std::atomic<bool> stopping_{false};

  std::mutex gate_;  // guards who drives; never held while somebody does
  std::condition_variable gate_changed_;
  bool driven_ = false;
  bool parked_ = false;                           // our thread waits at the gate
  bool awaits_leave_ = false;                     // likewise, and for no time to pass
  std::chrono::steady_clock::time_point left_{};  // when the last inline driver did
  std::atomic<unsigned> inline_drivers_{0};
  std::atomic<std::uint64_t> waited_ns_{0};
  std::atomic<bool> background_{true};
  std::atomic<std::int64_t> waits_since_{0};  // 0: nobody waits

  interrupt_check interrupted_;  // of who drives inline
  const std::uint32_t forks_ = runtime::fork_count();
  const std::shared_ptr<runtime::stall_watch> stalls_ = runtime::stall_watch::of_process();

  int wake_fd_ = -1;
  int epoll_fd_ = -1;
  std::thread thread_;
  std::atomic<std::thread::id> owner_;  // who drives
};

}  // namespace tidegate::actors
