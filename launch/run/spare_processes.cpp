#include "launch/run/spare_processes.hpp"

#include <algorithm>
#include <signal.h>
#include <utility>

#include "launch/run/process_end.hpp"

namespace tidegate::launch {

spare_processes::~spare_processes() {
  for (const auto& spare : spares_) end_now(spare.process);
}

runtime::status spare_processes::start(policies::spare_number number, const std::string& job,
                                       const spawn_request& request,
                                       runtime::spare_channel channel) {
  auto process = spawn(request);
  if (!process) return process.error();
  spares_.push_back({.number = number,
                     .job = job,
                     .environment = request.environment,
                     .process = std::move(*process),
                     .channel = std::move(channel)});
  return {};
}

const std::vector<std::string>* spare_processes::environment(
    policies::spare_number number) const {
  for (const auto& spare : spares_)
    if (spare.number == number) return &spare.environment;
  return nullptr;
}

runtime::expected<spawned> spare_processes::give(policies::spare_number number,
                                                 const runtime::spare_place& place) {
  const auto at = std::find_if(spares_.begin(), spares_.end(),
                               [&](const auto& spare) { return spare.number == number; });
  if (at == spares_.end())
    return runtime::fail(runtime::errc::unavailable, "the spare process has ended");
  if (auto given = at->channel.give(place); !given.ok()) return runtime::fail(std::move(given));
  auto process = std::move(at->process);
  spares_.erase(at);
  return process;
}

void spare_processes::end(policies::spare_number number) {
  for (const auto& spare : spares_)
    if (spare.number == number) ::kill(-spare.process.pid, SIGKILL);
}

void spare_processes::read(run_turn& into) {
  for (auto& spare : spares_) {
    if (spare.channel.take_ready()) {
      spare.is_ready = true;
      into.spares_ready.push_back(spare.number);
    }
    const auto result = reap(spare.process);
    if (!result) continue;
    into.spare_ends.push_back({spare.number, "a spare of job " + spare.job + " (pid " +
                                                 std::to_string(spare.process.pid) + ") " +
                                                 text_of_end(result->by_signal, result->code)});
    spare.process.pid = -1;
  }
  std::erase_if(spares_, [](const auto& spare) { return spare.process.pid == -1; });
}

// The channel of a spare that waits has nothing to say but its end, which the other tells.
void spare_processes::add_to(std::vector<pollfd>& fds) const {
  for (const auto& spare : spares_) {
    fds.push_back({spare.process.pid_fd.get(), POLLIN, 0});
    if (!spare.is_ready) fds.push_back({spare.channel.fd(), POLLIN, 0});
  }
}

}  // namespace tidegate::launch
