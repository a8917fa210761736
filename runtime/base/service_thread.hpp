// Threads that serve a process beside its program's own threads: they take no signal, so that
// signals stay with the threads that know what to do about them.
#pragma once

#include <functional>
#include <thread>

namespace tidegate::runtime {

// Runs `body` on a new thread that has all signals blocked. The caller's mask is as before when
// this returns. Threads: any. The caller owns the thread and joins it.
[[nodiscard]] std::thread start_service_thread(std::function<void()> body);

}  // namespace tidegate::runtime
