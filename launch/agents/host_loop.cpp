#include "launch/agents/host_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "launch/agents/agent_text.hpp"
#include "launch/agents/processor_note.hpp"
#include "launch/processes/poll_until.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/placement/hosts.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/processor.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

// Logs wait while so many reports are not taken; and bytes of a turn, also of one that
// tells of an end.
constexpr std::size_t reports_kept_max = 16;
constexpr std::size_t bytes_per_turn = std::size_t{256} << 10U;
constexpr std::size_t last_bytes_max = std::size_t{16} << 20U;

policies::host_number host_number_of(const policies::cluster_spec& spec,
                                     const std::string& host) {
  policies::host_number number = 1;
  for (const auto* each : policies::agent_hosts(spec)) {
    if (each->name == host) break;
    ++number;
  }
  return number;
}

}  // namespace

host_loop::host_loop(const agent_config& config, const std::string& folder,
                     const policies::cluster_spec& spec, const starter& programs,
                     const agent_links& links, std::optional<log_tails> tails)
    : config_(config),
      processes_(spec, programs, {config.host},
                 {.token = config.token,
                  .port = 0,
                  .run_dir = folder,
                  .epoch = 1,
                  .workers_port = config.workers_port}),
      others_(spec, host_number_of(spec, config.host), links,
              {.token = config.token, .unreachable_ms = spec.supervision.unreachable_ms}),
      shell_({.agent = runtime::draw_number(),
              .start = config.start,
              .unreachable_ns = spec.supervision.unreachable_ms * policies::millisecond},
             processes_, others_, static_cast<launcher_port&>(*this),
             spec.supervision.heartbeat_timeout_ms),
      connector_(links, config.launcher_host, config.launcher_port,
                 {.token = config.token,
                  .unreachable_ms = spec.supervision.unreachable_ms,
                  .encrypt = spec.security.encrypt}),
      tails_(std::move(tails)) {
  if (auto note = processor_note(config, runtime::vector_instructions()))
    notes_.emplace_back(std::move(*note));
}

bool host_loop::carry_out() {
  shell_.begin(runtime::steady_now());
  while (!shell_.is_over()) {
    wait();
    auto turn = collect();
    shell_.turn(runtime::steady_now(), std::move(turn));
  }
  // Before an attempt to connect is waited for.
  if (!shell_.why().empty()) runtime::log::error(shell_.why());
  return shell_.why().empty();
}

void host_loop::wait() {
  std::vector<pollfd> fds{{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                          {.fd = connector_.fd(), .events = POLLIN, .revents = 0}};
  if (has_input_) fds.push_back({.fd = STDIN_FILENO, .events = POLLIN, .revents = 0});
  if (link_.is_open()) fds.push_back({link_.fd(), link_.awaits(), 0});
  processes_.add_to(fds);
  others_.add_to(fds);
  if (may_tell_logs()) fds.push_back({tails_->fd(), POLLIN, 0});
  const bool is_due = processes_.has_news() || (may_tell_logs() && tails_->has_more());
  poll_until(fds, is_due ? 0 : shell_.next_wake());
}

agent_turn host_loop::collect() {
  agent_turn turn;
  for (int number = signals_.next(); number != 0; number = signals_.next())
    turn.closed = "it was ended by SIG" + std::string(::sigabbrev_np(number));
  if (has_input_) read_input(turn);
  read_link(turn);
  // Who gives orders is followed, and takes reports.
  if (std::any_of(turn.frames.begin(), turn.frames.end(), [](const auto& frame) {
        return std::holds_alternative<policies::launcher_frame::order>(frame.content);
      }))
    for (auto& note : std::exchange(notes_, {})) turn.reports.push_back(std::move(note));
  processes_.read(turn);
  others_.read(turn);
  if (tails_) read_logs(turn);
  if (processes_.adopts()) reap_strays([&](pid_t pid) { return processes_.has(pid); });
  return turn;
}

// Whoever has started this agent has its standard input open as long as it lives.
void host_loop::read_input(agent_turn& into) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (::poll(&input, 1, 0) > 0) {
    std::array<char, 256> ignored{};
    const auto got = ::read(STDIN_FILENO, ignored.data(), ignored.size());
    if (got > 0) continue;
    if (got < 0 && errno == EINTR) continue;
    has_input_ = false;
    into.closed = "its standard input has ended: whoever has started it is gone";
    return;
  }
}

void host_loop::read_link(agent_turn& into) {
  using news = agent_turn::link_news;
  if (link_.is_open()) {
    std::vector<std::string> texts;
    const bool is_open = link_.read(texts);
    for (const auto& text : texts) {
      auto frame = parse_launcher_frame(text);
      if (frame) {
        into.frames.push_back(std::move(*frame));
        continue;
      }
      runtime::log::error("the launcher says: " + frame.error().message());
      link_.close();
    }
    // A long text may be on its way for as long as a launcher may say nothing.
    if (link_.take_sign() && into.frames.empty())
      into.frames.push_back({.taken = 0, .content = policies::launcher_frame::sign{}});
    if (!is_open || !link_.is_open()) {
      into.link.push_back(news::disconnected);
      into.frames.clear();  // they come again; here they would be the next connection's
    }
  }
  auto connected = connector_.take();
  if (!connected) return;
  if (!*connected) {
    into.link.push_back(news::not_connected);
    if (std::exchange(why_not_connected_, connected->error().message()) != why_not_connected_)
      runtime::log::warn(why_not_connected_);
    return;
  }
  why_not_connected_.clear();
  link_ = frame_connection(std::move(**connected));
  link_.send(greeting_text(config_.host));
  into.link.push_back(news::connected);
}

bool host_loop::may_tell_logs() const {
  return tails_ && shell_.reports_kept() < reports_kept_max;
}

// What a process has said comes before its end. While the launcher takes nothing it stays in
// the logs.
void host_loop::read_logs(agent_turn& into) {
  const auto ends = std::any_of(into.reports.begin(), into.reports.end(), [](const auto& each) {
    return std::holds_alternative<policies::agent_reports::ended>(each);
  });
  if (!ends && !may_tell_logs()) return;
  std::vector<policies::agent_report> all;
  tails_->take(ends ? last_bytes_max : bytes_per_turn, all);
  all.insert(all.end(), std::make_move_iterator(into.reports.begin()),
             std::make_move_iterator(into.reports.end()));
  into.reports = std::move(all);
}

void host_loop::send(const policies::agent_frame& frame) {
  link_.send(frame_text(frame));
}

}  // namespace tidegate::launch
