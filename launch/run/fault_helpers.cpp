#include "launch/run/fault_helpers.hpp"

#include <algorithm>
#include <cerrno>
#include <signal.h>
#include <sys/wait.h>
#include <utility>

#include "launch/config/fault_words.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

constexpr auto log_name = "/logs/chaos.log";
// To undo what is done; then it is killed.
constexpr int undo_ms_max = 10'000;

bool has_ended_well(int ended) {
  return WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

}  // namespace

fault_helpers::~fault_helpers() {
  for (const auto& entry : running_) ::kill(-entry.process.pid, SIGKILL);
  for (const auto& entry : running_) ::waitpid(entry.process.pid, nullptr, 0);
}

void fault_helpers::start(const policies::chaos_order& order, const starter& programs,
                          run_journal& journal) {
  const auto word = action_text({order.choice.act});
  const auto& run_dir = journal.folder().path();
  std::vector<std::string> words{"chaos", run_dir, word};
  if (order.choice.hits_host()) words.push_back(order.host);
  if (order.choice.for_ms > 0) {
    words.emplace_back("--for");
    words.push_back(format_duration_ms(order.choice.for_ms));
  }
  auto spawned = spawn(programs.own_request(words, run_dir + log_name));
  const auto subject = word + (order.host.empty() ? "" : " " + order.host);
  if (spawned)
    running_.push_back({subject, std::move(*spawned)});
  else
    journal.event("fault_failed", subject + ": " + spawned.error().message());
}

void fault_helpers::reap(run_journal& journal) {
  std::erase_if(running_, [&](const helper& entry) {
    int ended = 0;
    if (::waitpid(entry.process.pid, &ended, WNOHANG) != entry.process.pid) return false;
    if (!has_ended_well(ended))
      journal.event("fault_failed",
                    entry.purpose + ": see " + journal.folder().path() + log_name);
    return true;
  });
}

void fault_helpers::finish(run_journal& journal) {
  for (const auto& entry : running_) ::kill(entry.process.pid, SIGINT);
  for (const auto& entry : running_) {
    pollfd end{.fd = entry.process.pid_fd.get(), .events = POLLIN, .revents = 0};
    while (::poll(&end, 1, undo_ms_max) < 0 && errno == EINTR) continue;
  }
  reap(journal);
}

bool fault_helpers::has(pid_t pid) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const helper& entry) { return entry.process.pid == pid; });
}

void fault_helpers::add_to(std::vector<pollfd>& fds) const {
  for (const auto& entry : running_) fds.push_back({entry.process.pid_fd.get(), POLLIN, 0});
}

}  // namespace tidegate::launch
