#include "launch/door/door.hpp"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <limits>
#include <list>
#include <vector>

#include "launch/door/door_key.hpp"
#include "launch/door/door_messages.hpp"
#include "launch/door/door_session.hpp"
#include "launch/door/sockets.hpp"
#include "launch/plan/environment.hpp"
#include "launch/processes/find_program.hpp"
#include "launch/processes/poll_until.hpp"
#include "launch/processes/signals.hpp"
#include "launch/text/exit_code.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {

namespace {

using policies::millisecond;

// A connection that has not proven the key by then is closed; when there are too many, the one
// that has waited longest leaves for the next, but has at least a tenth of a second.
constexpr std::int64_t prove_within = 5'000 * millisecond;
constexpr std::int64_t prove_crowded = 100 * millisecond;
constexpr std::size_t strangers_max = 64;
// Strangers that were refused are told in the log at most so often.
constexpr std::int64_t report_every = 10'000 * millisecond;
// After a signal, for agents to end.
constexpr std::int64_t leave_within = 10'000 * millisecond;

class door_loop {
 public:
  door_loop(runtime::unique_fd listener, const runtime::digest& key, spawn_request agent)
      : listener_(std::move(listener)), key_(key), agent_(std::move(agent)) {}

  // Returns the signal that has ended it.
  int run() {
    int ended_by = 0;
    std::int64_t leave_at = 0;  // 0: nobody has asked for the end
    while (leave_at == 0 || (!sessions_.empty() && runtime::steady_now() < leave_at)) {
      wait(leave_at);
      const auto now = runtime::steady_now();
      while (const int signal = signals_.next()) {
        if (leave_at != 0) continue;  // it leaves already
        ended_by = signal;
        leave_at = now + leave_within;
        for (auto& session : sessions_) session.let_go(now);
      }
      if (leave_at == 0) accept_some(now);
      for (auto& session : sessions_) session.advance(now);
      for (const auto& session : sessions_)
        if (!session.is_over() && is_late(session, now)) refuse(session, "it said too little");
      sessions_.remove_if([&](const door_session& session) {
        if (session.is_over() && !session.is_proven()) refuse(session, session.why_refused());
        return session.is_over() || is_late(session, now);
      });
      reap_strays([this](pid_t pid) {
        return std::any_of(sessions_.begin(), sessions_.end(),
                           [pid](const door_session& each) { return each.is_agent(pid); });
      });
      report(now);
    }
    for (auto& session : sessions_) session.end();
    return ended_by;
  }

 private:
  static bool is_late(const door_session& session, std::int64_t now) {
    return !session.is_proven() && now - session.since() > prove_within;
  }

  std::size_t strangers() const {
    return static_cast<std::size_t>(
        std::count_if(sessions_.begin(), sessions_.end(),
                      [](const door_session& each) { return !each.is_proven(); }));
  }

  void wait(std::int64_t leave_at) {
    auto until = leave_at == 0 ? std::numeric_limits<std::int64_t>::max() : leave_at;
    std::vector<pollfd> fds;
    fds.push_back({.fd = signals_.fd(), .events = POLLIN, .revents = 0});
    const auto now = runtime::steady_now();
    if (leave_at == 0 && may_accept(now))
      fds.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
    else if (leave_at == 0)
      until = now + prove_crowded;
    for (const auto& session : sessions_) {
      session.add_to(fds);
      until = std::min(until, session.next_wake());
      if (!session.is_proven()) until = std::min(until, session.since() + prove_within + 1);
    }
    poll_until(fds, until);
  }

  // Sessions are in the order of their coming.
  std::list<door_session>::iterator oldest_stranger() {
    return std::find_if(sessions_.begin(), sessions_.end(),
                        [](const door_session& each) { return !each.is_proven(); });
  }

  bool may_accept(std::int64_t now) {
    if (now < rest_until_) return false;
    return strangers() < strangers_max || now - oldest_stranger()->since() >= prove_crowded;
  }

  void accept_some(std::int64_t now) {
    while (may_accept(now)) {
      std::string peer;
      auto connection = accept_from(listener_.get(), peer);
      if (!connection) {
        if (errno != EAGAIN) rest_until_ = now + prove_crowded;  // no descriptors, say
        return;
      }
      if (strangers() == strangers_max) {
        refuse(*oldest_stranger(), "others came");
        sessions_.erase(oldest_stranger());
      }
      auto channel =
          runtime::tls_channel::begin(std::move(connection), runtime::tls_side::server, key_);
      if (channel) sessions_.emplace_back(std::move(*channel), peer, agent_, now);
    }
  }

  void refuse(const door_session& stranger, const std::string& why) {
    ++refused_;
    last_refused_ = stranger.peer() + ": " + why;
  }

  void report(std::int64_t now) {
    if (refused_ == reported_ || now < report_from_) return;
    runtime::log::warn("refused connections, " + std::to_string(refused_) +
                       " so far; the last one, of " + last_refused_);
    reported_ = refused_;
    report_from_ = now + report_every;
  }

  signal_source signals_;
  runtime::unique_fd listener_;
  runtime::digest key_;
  spawn_request agent_;
  std::list<door_session> sessions_;
  std::uint64_t refused_ = 0;
  std::uint64_t reported_ = 0;
  std::int64_t report_from_ = 0;
  std::int64_t rest_until_ = 0;  // nobody is accepted
  std::string last_refused_;
};

int refuse(const runtime::status& why) {
  std::cerr << "tidegate door: " << why.message() << "\n";
  return static_cast<int>(exit_code::bad_usage);
}

}  // namespace

int run_door(const door_options& options) {
  const auto key = read_door_key(options.key_file);
  if (!key) return refuse(key.error());
  const auto place = parse_place(options.listen);
  if (!place) return refuse(place.error());
  const auto program = own_program();
  if (!program) return refuse(program.error());
  auto listener = runtime::listen_on(place->host, place->port);
  if (!listener && options.listen == door_options().listen)
    listener = runtime::listen_on("0.0.0.0", place->port);  // a system without IPv6
  if (!listener) return refuse(listener.error());
  spawn_request agent;
  agent.program = *program;
  agent.arguments = {*program, "host"};
  agent.environment = format_environment(parse_environment(environ));
  runtime::log::start("door");
  std::cout << "tidegate door: listens at " << to_string(place_of(listener->get()))
            << std::endl;
  return signal_status + door_loop(std::move(*listener), *key, std::move(agent)).run();
}

}  // namespace tidegate::launch
