#include "launch/chaos/chaos.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <signal.h>
#include <utility>

#include "launch/chaos/fill.hpp"
#include "launch/chaos/members.hpp"
#include "launch/chaos/options.hpp"
#include "launch/chaos/partition.hpp"
#include "launch/command_line.hpp"
#include "launch/run_journal.hpp"
#include "launch/signals.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

namespace {

using launch::exit_code;
using policies::chaos_signal;
using policies::chaos_target;
using runtime::errc;
using runtime::status;

// How often a run is looked at while nothing is due: whether it has ended.
constexpr std::int64_t look_ns = 100'000'000;
// A run without a process for so long is not starting: its launcher was killed.
constexpr std::int64_t silence_ns = 30'000'000'000;

// A file of events; a line is one write, so that several writers mix lines and no more.
class event_file {
 public:
  event_file(std::string path, int flags)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666)) {}

  status append(const policies::cluster_event& event) {
    const auto line = launch::event_line(event);
    const auto n = ::write(fd_.get(), line.data(), line.size());
    if (n == static_cast<ssize_t>(line.size())) return {};
    return {errc::io_error, path_ + ": " + (n < 0 ? std::strerror(errno) : "the disk is full")};
  }

 private:
  std::string path_;
  runtime::unique_fd fd_;
};

// RUN_DIR/chaos.jsonl, and the run's own log.
class chaos_log {
 public:
  explicit chaos_log(const std::string& run_dir)
      : chaos_(run_dir + "/chaos.jsonl", O_CREAT), run_(run_dir + "/events.jsonl", 0) {}

  status append(std::int64_t unix_ns, const std::string& what, const std::string& detail) {
    std::cout << what << " " << detail << std::endl;
    auto noted = chaos_.append({unix_ns, what, detail});
    return noted.ok() ? run_.append({unix_ns, "fault", what + " " + detail}) : noted;
  }

 private:
  event_file chaos_;
  event_file run_;
};

// Sends, and notes it with the time before: what follows from it comes later. Errors: of
// send_signal, and io_error.
status strike(const chaos_target& target, const std::string& what, int signal, chaos_log& log) {
  const auto now = runtime::unix_now();
  if (auto sent = send_signal(target, signal); !sent.ok()) return sent;
  const auto detail = target.name.to_string() + " pid " + std::to_string(target.pid) + " " +
                      signal_name(signal);
  return log.append(now, what, detail);
}

runtime::expected<chaos_target> find(const std::vector<chaos_target>& living,
                                     const chaos_options& options) {
  if (options.role) {
    if (const auto one = choose_target(living, *options.role, options.plan.seed)) return *one;
    return runtime::fail(errc::not_found,
                         "no " + std::string(to_string(*options.role)) + " of this run lives");
  }
  std::string names;
  for (const auto& one : living) {
    if (one.name.to_string() == options.process) return one;
    names += (names.empty() ? "" : ", ") + one.name.to_string();
  }
  return runtime::fail(errc::not_found, "no process " + options.process +
                                            " of this run lives; there are: " +
                                            (names.empty() ? "none" : names));
}

status hit_one(const members& run, const chaos_options& options) {
  if (run.has_ended()) return {errc::not_found, run.run_dir() + ": this run has ended"};
  const auto living = run.living();
  if (!living) return living.error();
  const auto target = find(*living, options);
  if (!target) return target.error();
  chaos_log log(run.run_dir());
  const auto* what = options.verb == verb::stop    ? "stop"
                     : options.verb == verb::go_on ? "continue"
                                                   : "kill";
  return strike(*target, what, options.signal, log);
}

status set_host(const policies::host_spec& host, const std::string& interface, bool up,
                chaos_log& log) {
  const auto now = runtime::unix_now();
  if (auto set = set_interface(host, interface, up); !set.ok()) return set;
  return log.append(now, up ? "heal" : "partition", host.name + " interface " + interface);
}

// For so long, or until Ctrl-C.
void stay(std::uint64_t ms, launch::signal_source& signals) {
  const auto until = launch::monotonic_ns_now() + static_cast<std::int64_t>(ms) * 1'000'000;
  while (launch::monotonic_ns_now() < until && signals.next() == 0) {
    const auto left = (until - launch::monotonic_ns_now() + 999'999) / 1'000'000;
    pollfd fd{signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  }
}

// What cannot be noted on a full disk is noted when it has room again.
status fill(const members& run, const chaos_options& options) {
  constexpr std::uint64_t default_ms = 1000;
  const auto ms = options.plan.for_ms == 0 ? default_ms : options.plan.for_ms;
  launch::signal_source signals;
  chaos_log log(run.run_dir());
  if (auto noted = log.append(runtime::unix_now(), "fill", "for " + std::to_string(ms) + " ms");
      !noted.ok())
    return noted;
  auto taken = fill_disk(run.run_dir());
  if (!taken) return taken.error();
  stay(ms, signals);
  taken->reset();
  return log.append(runtime::unix_now(), "free", "after " + std::to_string(ms) + " ms");
}

// With a time it is healed after that, whatever else comes.
status cut_off(const members& run, const chaos_options& options) {
  const auto host = find_host(run.run_dir(), options.host);
  if (!host) return host.error();
  const auto interface = interface_of(*host);
  if (!interface) return interface.error();
  launch::signal_source signals;
  chaos_log log(run.run_dir());
  auto result = set_host(*host, *interface, options.verb == verb::heal, log);
  if (!result.ok() || options.plan.for_ms == 0) return result;
  stay(options.plan.for_ms, signals);
  return set_host(*host, *interface, true, log);
}

class random_chaos {
 public:
  random_chaos(const members& run, const policies::chaos_plan& plan)
      : run_(run), log_(run.run_dir()), core_(plan, launch::monotonic_ns_now()) {}

  status carry_out() {
    auto result = repeat();
    std::vector<policies::chaos_order> last;
    core_.end(last);
    for (const auto& order : last)
      if (auto done = obey(order); result.ok()) result = done;
    std::cout << core_.hits() << (core_.hits() == 1 ? " hit" : " hits") << std::endl;
    return result;
  }

 private:
  status repeat() {
    auto seen = launch::monotonic_ns_now();
    while (!core_.done() && signals_.next() == 0 && !run_.has_ended()) {
      const auto living = run_.living();
      if (!living && living.error().code() != errc::not_found) return living.error();
      const auto now = launch::monotonic_ns_now();
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
    const bool is_hit = order.signal != chaos_signal::go_on;
    const auto done =
        order.signal == chaos_signal::kill   ? strike(order.target, "kill", SIGKILL, log_)
        : order.signal == chaos_signal::stop ? strike(order.target, "stop", SIGSTOP, log_)
                                             : strike(order.target, "continue", SIGCONT, log_);
    if (done.code() != errc::not_found) return done;
    if (is_hit) core_.missed(order.target);
    return {};
  }

  void wait() {
    const auto due = core_.next_wake();
    if (due == policies::chaos_core::never) return;
    const auto ns = std::clamp<std::int64_t>(due - launch::monotonic_ns_now(), 0, look_ns);
    pollfd fd{signals_.fd(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>((ns + 999'999) / 1'000'000));
  }

  launch::signal_source signals_;
  const members& run_;
  chaos_log log_;
  policies::chaos_core core_;
};

status carry_out(const chaos_options& options) {
  const auto run = members::of_run(options.run_dir);
  if (!run) return run.error();
  if (options.verb == verb::fill) return fill(*run, options);
  if (options.verb == verb::partition || options.verb == verb::heal)
    return cut_off(*run, options);
  if (options.verb == verb::random) return random_chaos(*run, options.plan).carry_out();
  return hit_one(*run, options);
}

}  // namespace

bool is_chaos(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const bool asks = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  return args[0] == "chaos" || (asks && args.size() > 1 && args[1] == "chaos");
}

int run_chaos(const std::vector<std::string>& args) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] != "chaos") rest = {"--help"};
  const auto options = parse_chaos(rest);
  if (options && options->verb == verb::help) {
    std::cout << chaos_help();
    return static_cast<int>(exit_code::done);
  }
  const auto result = options ? carry_out(*options) : options.error();
  if (result.ok()) return static_cast<int>(exit_code::done);
  std::cerr << (options ? "tidegate chaos: " : "") << result.message() << "\n";
  return static_cast<int>(options ? exit_code::job_failed : exit_code::bad_usage);
}

}  // namespace tidegate::chaos
