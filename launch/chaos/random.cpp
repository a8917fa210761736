#include "launch/chaos/random.hpp"

#include <algorithm>
#include <iostream>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "launch/chaos/chaos_log.hpp"
#include "launch/chaos/partition.hpp"
#include "launch/chaos/world.hpp"
#include "launch/processes/signals.hpp"
#include "launch/run/run_journal.hpp"
#include "policies/supervision/chaos_core.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

using policies::chaos_act;
using policies::chaos_target;
using runtime::errc;
using runtime::status;

namespace {

// How often a run is looked at while nothing is due: whether it has ended.
constexpr std::int64_t look_ns = 100'000'000;
// A run without a process for so long is not starting: its launcher was killed.
constexpr std::int64_t silence_ns = 30'000'000'000;

// Hits on hosts and disks, which last: each is a process.
class lasting_hits {
 public:
  lasting_hits() = default;
  lasting_hits(const lasting_hits&) = delete;
  lasting_hits& operator=(const lasting_hits&) = delete;
  ~lasting_hits() { static_cast<void>(end()); }

  status begin(const policies::chaos_order& order, const std::string& run_dir) {
    std::erase_if(running_, [this](pid_t number) { return has_ended(number, WNOHANG); });
    const auto pid = ::fork();
    if (pid < 0) return {errc::io_error, "no more processes"};
    if (pid > 0) {
      running_.push_back(pid);
      return {};
    }
    const auto done = order.choice.act == chaos_act::fill
                          ? fill(run_dir, order.choice.for_ms)
                          : cut_off(run_dir, order.host, false, order.choice.for_ms);
    if (!done.ok()) std::cerr << "tidegate chaos: " << done.message() << std::endl;
    ::_exit(done.ok() ? 0 : 1);
  }
  // Undoes them.
  status end() {
    for (const auto pid : running_) ::kill(pid, SIGINT);
    for (const auto pid : std::exchange(running_, {})) has_ended(pid, 0);
    return well_ ? status() : status(errc::io_error, "not all that was to be done worked");
  }

 private:
  bool has_ended(pid_t pid, int mode) {
    int code = 0;
    if (::waitpid(pid, &code, mode) != pid) return false;
    well_ = well_ && code == 0;
    return true;
  }

  bool well_ = true;
  std::vector<pid_t> running_;
};

class random_chaos {
 public:
  random_chaos(const members& run, const policies::chaos_plan& plan)
      : run_(run), log_(run.run_dir()), core_(plan, runtime::steady_now()) {}

  status carry_out() {
    auto result = repeat();
    std::vector<policies::chaos_order> last;
    core_.end(last);
    for (const auto& order : last)
      if (auto done = obey(order); result.ok()) result = done;
    if (auto undone = lasting_.end(); result.ok()) result = undone;
    std::cout << core_.hits() << (core_.hits() == 1 ? " hit" : " hits") << std::endl;
    return result;
  }

 private:
  status repeat() {
    auto seen = runtime::steady_now();
    while (!core_.done() && signals_.next() == 0 && !run_.has_ended()) {
      const auto living = run_.living();
      if (!living && living.error().code() != errc::not_found) return living.error();
      const auto now = runtime::steady_now();
      const std::vector<chaos_target> nobody;
      const auto& there = living ? *living : nobody;
      if (!there.empty()) seen = now;
      if (now - seen > silence_ns)
        return {errc::not_found, run_.run_dir() + ": no process of this run lives"};
      std::vector<policies::chaos_order> orders;
      core_.wake(now, there, orders);
      for (const auto& order : orders)
        if (auto done = obey(order); !done.ok()) return done;
      wait();
    }
    return {};
  }

  // A process that is gone is no error: it may end by itself at any time.
  status obey(const policies::chaos_order& order) {
    const auto act = order.choice.act;
    if (!order.choice.hits_process()) return lasting_.begin(order, run_.run_dir());
    const auto done = act == chaos_act::kill ? strike(order.target, "kill", SIGKILL, log_)
                      : act == chaos_act::stop
                          ? strike(order.target, "stop", SIGSTOP, log_)
                          : strike(order.target, "continue", SIGCONT, log_);
    if (done.code() != errc::not_found) return done;
    if (act != chaos_act::go_on) core_.missed(order.target);
    return {};
  }

  void wait() {
    const auto due = core_.next_wake();
    if (due == policies::chaos_core::never) return;
    const auto ns = std::clamp<std::int64_t>(due - runtime::steady_now(), 0, look_ns);
    pollfd fd{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&fd, 1, static_cast<int>((ns + 999'999) / 1'000'000));
  }

  launch::signal_source signals_;
  const members& run_;
  chaos_log log_;
  policies::chaos_core core_;
  lasting_hits lasting_;
};

}  // namespace

status carry_out_random(const members& run, policies::chaos_plan plan) {
  const bool cuts_off = std::any_of(plan.actions.begin(), plan.actions.end(),
                                    [](const auto& action) { return action.hits_host(); });
  if (cuts_off) {
    auto hosts = hosts_of(run.run_dir());
    if (!hosts) return hosts.error();
    if (hosts->empty())
      return {errc::not_found, "no host can be cut off: none has an address (cluster.hosts)"};
    plan.hosts = std::move(*hosts);
  }
  return random_chaos(run, plan).carry_out();
}

}  // namespace tidegate::chaos
