#include "launch/processes/spare_processes.hpp"

#include <algorithm>
#include <signal.h>
#include <utility>

#include "launch/processes/process_end.hpp"

namespace tidegate::launch {

spare_processes::~spare_processes() {
  for (const auto& spare : spares_)
    if (spare.process.pid > 0) end_now(spare.process);
}

spare_processes::spare* spare_processes::find(policies::spare_number number) {
  for (auto& spare : spares_)
    if (spare.number == number) return &spare;
  return nullptr;
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

runtime::status spare_processes::copy(policies::spare_number original,
                                      policies::spare_number number) {
  auto* from = find(original);
  if (from == nullptr) return {runtime::errc::not_found, "the spare process has ended"};
  auto channel = runtime::spare_channel::make();
  if (!channel) return channel.error();
  if (auto asked = from->channel.ask_for_copy(channel->second.get()); !asked.ok()) return asked;
  spares_.push_back({.number = number,
                     .job = from->job,
                     .environment = from->environment,
                     .process = {},
                     .channel = std::move(channel->first),
                     .is_copy = true});
  return {};
}

const std::vector<std::string>* spare_processes::environment(
    policies::spare_number number) const {
  for (const auto& spare : spares_)
    if (spare.number == number && spare.process.pid > 0) return &spare.environment;
  return nullptr;
}

runtime::expected<spawned> spare_processes::give(policies::spare_number number,
                                                 const runtime::spare_place& place) {
  auto* const spare = find(number);
  if (spare == nullptr || spare->process.pid <= 0)
    return runtime::fail(runtime::errc::unavailable, "the spare process has ended");
  if (auto given = spare->channel.give(place); !given.ok())
    return runtime::fail(std::move(given));
  auto process = std::move(spare->process);
  std::erase_if(spares_, [&](const auto& each) { return each.number == number; });
  return process;
}

bool spare_processes::has(pid_t pid) const {
  return std::any_of(spares_.begin(), spares_.end(),
                     [&](const auto& spare) { return spare.process.pid == pid; });
}

// A copy that nobody has heard of ends when its channel is closed.
void spare_processes::end(policies::spare_number number) {
  auto* const spare = find(number);
  if (spare == nullptr) return;
  if (spare->process.pid > 0)
    end_process(*spare);
  else
    spare->is_over = true;
}

void spare_processes::end_all() {
  for (auto& spare : spares_) end(spare.number);
}

void spare_processes::end_process(spare& each) {
  ::kill(-each.process.pid, SIGKILL);
}

// The first word of a copy tells which process it is.
void spare_processes::hear(spare& each, agent_turn& into) {
  const auto word = each.channel.take_word();
  if (!word) return;
  if (each.is_copy) {
    auto process = adopted(word->pid);
    if (!process) {
      each.is_over = true;
      return;
    }
    each.process = std::move(*process);
    // It was to be ended before it could be: its end follows.
    if (std::exchange(each.is_over, false)) return end_process(each);
  }
  each.is_ready = true;
  into.reports.emplace_back(
      policies::agent_reports::spare_ready{.spare = each.number, .can_copy = word->can_copy});
}

std::optional<std::string> spare_processes::end_of(spare& each) {
  const auto subject = "a spare of job " + each.job;
  if (each.process.pid <= 0)
    return each.is_over || each.channel.is_closed()
               ? std::optional(subject + " could not be copied from another")
               : std::nullopt;
  const auto result = reap(each.process);
  if (!result) return {};
  return subject + " (pid " + std::to_string(each.process.pid) + ") " +
         text_of_end(result->by_signal, result->code) + each.reason;
}

void spare_processes::read(agent_turn& into) {
  for (auto& spare : spares_) {
    hear(spare, into);
    // It will never hear of a place, and its channel would be readable for ever.
    if (!spare.is_ready && spare.process.pid > 0 && spare.channel.is_closed()) {
      spare.reason = ", as its socket was closed; a prefix of a host may close descriptors";
      end_process(spare);
    }
    const auto why = end_of(spare);
    if (!why) continue;
    into.reports.emplace_back(
        policies::agent_reports::spare_ended{.spare = spare.number, .why = *why});
    spare.is_over = true;
    spare.process.pid = -1;
  }
  std::erase_if(spares_, [](const auto& spare) { return spare.is_over; });
}

// The channel of a spare that waits has nothing to say but its end, which the other tells.
void spare_processes::add_to(std::vector<pollfd>& fds) const {
  for (const auto& spare : spares_) {
    if (spare.process.pid > 0) fds.push_back({spare.process.pid_fd.get(), POLLIN, 0});
    if (!spare.is_ready) fds.push_back({spare.channel.fd(), POLLIN, 0});
  }
}

}  // namespace tidegate::launch
