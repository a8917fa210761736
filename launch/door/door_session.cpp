#include "launch/door/door_session.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <unistd.h>
#include <utility>

#include "launch/door/door_messages.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::launch {

namespace {

using policies::millisecond;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
// After its standard input has ended, an agent ends all that it has started, in two seconds.
constexpr std::int64_t end_within = 10'000 * millisecond;
// To tell a relay how its agent has ended.
constexpr std::int64_t farewell_within = 5'000 * millisecond;
constexpr std::size_t kept_bytes_max = std::size_t{1} << 20U;

void do_not_block(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool make_pipe(runtime::unique_fd& reads, runtime::unique_fd& writes) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  reads = runtime::unique_fd(ends[0]);
  writes = runtime::unique_fd(ends[1]);
  return true;
}

bool may_come_later(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace

door_session::door_session(runtime::tls_channel channel, std::string peer,
                           const spawn_request& agent, std::int64_t now)
    : channel_(std::move(channel)),
      peer_(std::move(peer)),
      request_(agent),
      since_(now),
      due_(never) {}

void door_session::add_to(std::vector<pollfd>& fds) const {
  const auto add = [&](int fd, short events) {
    if (fd >= 0 && events != 0) fds.push_back({.fd = fd, .events = events, .revents = 0});
  };
  if (!is_peer_gone_) add(channel_.fd(), channel_.awaits());
  if (to_agent_ && !input_.empty()) add(to_agent_.get(), POLLOUT);
  if (from_agent_ && channel_.unsent_bytes() < kept_bytes_max) add(from_agent_.get(), POLLIN);
  if (agent_ && !has_ended_) add(agent_->pid_fd.get(), POLLIN);
}

void door_session::advance(std::int64_t now) {
  if (is_over_) return;
  const bool was_proven = channel_.is_proven();
  auto went = is_peer_gone_ ? runtime::status() : channel_.advance();
  if (!channel_.is_proven()) {
    is_over_ = !went.ok();
    if (is_over_) why_refused_ = went.message();
    return;
  }
  if (!was_proven) start_agent(now);
  hand_on(now);
  while (went.ok() && !is_peer_gone_ && channel_.has_more() && input_.size() < kept_bytes_max) {
    went = channel_.advance();
    hand_on(now);
  }
  if (!went.ok()) let_go(now);
  feed_agent();
  hear_agent();
  take_end(now);
  if (has_ended_)
    is_over_ = is_peer_gone_ || channel_.unsent_bytes() == 0 || now >= due_;
  else if (now >= due_)
    end();
}

void door_session::start_agent(std::int64_t now) {
  runtime::unique_fd agent_reads;
  runtime::unique_fd agent_writes;
  if (!make_pipe(agent_reads, to_agent_) || !make_pipe(from_agent_, agent_writes))
    return refuse_agent("no more file descriptors", now);
  do_not_block(to_agent_.get());
  do_not_block(from_agent_.get());
  request_.input = agent_reads.get();
  request_.output = agent_writes.get();
  auto started = spawn(request_);
  if (started) {
    agent_ = std::move(*started);
    runtime::log::info("started an agent for " + peer_ + ", pid " +
                       std::to_string(agent_->pid));
    return;
  }
  refuse_agent(started.error().message(), now);
}

void door_session::refuse_agent(const std::string& why, std::int64_t now) {
  runtime::log::error("no agent for " + peer_ + ": " + why);
  say(door_text(door_word::output, why + "\n") +
      door_text(door_word::ended, std::string(1, static_cast<char>(1))));
  has_ended_ = true;
  due_ = now + farewell_within;
}

// What the agent has taken makes room for what the channel holds; nothing else may say so.
void door_session::hand_on(std::int64_t now) {
  do feed_agent();
  while (take_messages(now));
}

// Returns true if there were some.
bool door_session::take_messages(std::int64_t now) {
  if (is_peer_gone_ || input_.size() >= kept_bytes_max) return false;
  std::vector<door_message> messages;
  const auto taken = take_door_messages(channel_.received(), messages);
  for (const auto& message : messages) {
    if (message.word == door_word::input) input_ += message.bytes;
    if (message.word == door_word::input_end) input_ends_ = true;
  }
  if (taken.ok()) return !messages.empty();
  runtime::log::warn(peer_ + ": " + taken.message());
  input_ends_ = true;
  let_go(now);
  return false;
}

void door_session::feed_agent() {
  while (to_agent_ && !input_.empty()) {
    const auto written = ::write(to_agent_.get(), input_.data(), input_.size());
    if (written <= 0) {
      if (may_come_later(written)) return;
      input_.clear();  // it has ended, or reads no more
      break;
    }
    input_.erase(0, static_cast<std::size_t>(written));
  }
  if (input_ends_ || is_peer_gone_) to_agent_.reset();
}

void door_session::hear_agent() {
  std::array<char, 16384> bytes{};
  while (from_agent_ && channel_.unsent_bytes() < kept_bytes_max) {
    const auto got = ::read(from_agent_.get(), bytes.data(), bytes.size());
    if (may_come_later(got)) return;
    if (got <= 0) {
      from_agent_.reset();
      return;
    }
    const std::string_view said(bytes.data(), static_cast<std::size_t>(got));
    if (!is_peer_gone_) say(door_text(door_word::output, said));
  }
}

void door_session::take_end(std::int64_t now) {
  if (!agent_ || has_ended_) return;
  const auto result = reap(*agent_);
  if (!result) return;
  hear_agent();
  has_ended_ = true;
  from_agent_.reset();
  to_agent_.reset();
  const auto code =
      static_cast<char>(result->by_signal ? signal_status + result->code : result->code);
  say(door_text(door_word::ended, std::string(1, code)));
  due_ = now + farewell_within;
  if (!is_peer_gone_ && !channel_.advance().ok()) is_peer_gone_ = true;
  runtime::log::info("the agent for " + peer_ + " has ended");
}

void door_session::let_go(std::int64_t now) {
  if (is_peer_gone_) return;
  is_peer_gone_ = true;
  if (!agent_) is_over_ = true;
  due_ = now + end_within;
}

void door_session::end() {
  if (agent_ && !has_ended_) end_now(*agent_);
  has_ended_ = is_over_ = true;
}

}  // namespace tidegate::launch
