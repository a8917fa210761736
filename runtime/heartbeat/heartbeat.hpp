// The beats of a process, as long as this lives: a thread counts them into the page that the
// launcher has shared, whatever the others are doing. A process that computes for long beats;
// one that is stopped, by SIGSTOP, a debugger or the kernel, does not. May be made and ended by
// any thread; several in a process beat side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/periodic_thread.hpp"
#include "runtime/heartbeat/beat_page.hpp"

namespace tidegate::runtime {

// "FD:MS": the descriptor of the page, and how often to beat. Set by the launcher.
inline constexpr const char* heartbeat_variable = "TIDEGATE_HEARTBEAT";
std::string heartbeat_text(int fd, std::uint32_t interval_ms);

class heartbeat {
 public:
  // Of this process, as its launcher wishes; null: it wishes none, or the page has not come
  // through, as behind a prefix that closes descriptors. Takes the descriptor and closes it.
  static std::unique_ptr<heartbeat> of_process(std::uint64_t token);

  heartbeat(std::shared_ptr<beat_page> page, std::uint32_t interval_ms);
  // Nobody waits for beats any more.
  ~heartbeat();
  heartbeat(const heartbeat&) = delete;
  heartbeat& operator=(const heartbeat&) = delete;

 private:
  std::shared_ptr<beat_page> page_;
  periodic_thread thread_;  // last: it uses the page
};

}  // namespace tidegate::runtime
