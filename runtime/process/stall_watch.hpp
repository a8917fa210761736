// For how long this process, or a thread of it, could not run though it wanted to. Linux only
// says it in pieces: a thread that was ready and had no processor is in schedstat, page faults
// that read a disk are in getrusage, and of a process that was stopped nothing is kept. So a
// thread looks every 100 ms how late it is itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/base/periodic_thread.hpp"

namespace tidegate::runtime {

// Finds the time in which no thread of this process ran: SIGSTOP, a debugger, a frozen
// container, or a machine that stood still. A stop is seen if it lasts for 150 ms, and counted
// up to 100 ms short. Made and ended by any thread; in a forked child it sees nothing.
class stall_watch {
 public:
  stall_watch();
  // One for all that use one at a time. Any thread.
  static std::shared_ptr<stall_watch> of_process();
  ~stall_watch() { thread_.end(); }
  stall_watch(const stall_watch&) = delete;
  stall_watch& operator=(const stall_watch&) = delete;

  // Returns the sum since this was made, in nanoseconds. Any thread.
  std::uint64_t stopped_ns() const noexcept {
    return stopped_ns_.load(std::memory_order_relaxed);
  }

 private:
  void look();

  std::atomic<std::uint64_t> stopped_ns_{0};
  std::int64_t looked_at_ = 0;               // of the thread, as the next
  std::optional<std::uint64_t> starved_ns_;  // then
  periodic_thread thread_;                   // last: it uses all of the above
};

// Returns for how long the calling thread has been ready to run without a processor, in
// nanoseconds, since it began; nothing where the kernel does not say. Takes some microseconds.
std::optional<std::uint64_t> starved_ns_of_thread() noexcept;

// Returns for how long any process of this host has waited for memory, in nanoseconds since
// this process asked first: the kernel's pressure stall information ("some" of
// /proc/pressure/memory); 0 where it does not say.
std::uint64_t memory_stalls_ns_of_host() noexcept;

// Returns the total of the line "some" in such text, in nanoseconds; 0: it has none.
std::uint64_t pressure_ns_in(std::string_view text) noexcept;

// Returns how many page faults of this process had to read a disk.
std::uint64_t disk_faults_of_process() noexcept;

}  // namespace tidegate::runtime
