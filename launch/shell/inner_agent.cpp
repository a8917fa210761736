#include "launch/shell/inner_agent.hpp"

#include <iterator>

namespace tidegate::launch {

namespace {

template <class Items>
void append(Items& to, Items& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()),
            std::make_move_iterator(from.end()));
}

}  // namespace

void inner_agent::start(std::int64_t now, std::uint64_t start) {
  todo_ = {};
  shell_ = std::make_unique<agent_shell>(
      policies::agent_options{.agent = start, .start = start, .unreachable_ns = 0}, processes_,
      others_, static_cast<launcher_port&>(*this), heartbeat_timeout_ms_);
  is_busy_ = true;
  shell_->begin(now);
  is_busy_ = false;
  carry_out(now);
}

void inner_agent::end() {
  if (!shell_) return;
  processes_.end_all();
  shell_.reset();
  events_.push_back({host, agent_event::ended{"it was ended"}});
}

void inner_agent::send(std::int64_t now, const policies::launcher_frame& frame) {
  agent_turn turn;
  turn.frames.push_back(frame);
  this->turn(now, std::move(turn));
}

void inner_agent::turn(std::int64_t now, agent_turn happened) {
  append(todo_.link, happened.link);
  append(todo_.frames, happened.frames);
  append(todo_.reports, happened.reports);
  todo_.all_ended |= happened.all_ended;
  has_todo_ = true;
  carry_out(now);
}

void inner_agent::connect() {
  todo_.link.push_back(agent_turn::link_news::connected);
  has_todo_ = true;
}

void inner_agent::disconnect() {
  events_.push_back({host, agent_event::disconnected{connection}});
}

void inner_agent::send(const policies::agent_frame& frame) {
  events_.push_back({host, agent_event::frame{connection, frame}});
}

// What a turn of the shell leads to here is another one, after it.
void inner_agent::carry_out(std::int64_t now) {
  if (is_busy_) return;
  is_busy_ = true;
  while (shell_ && std::exchange(has_todo_, false)) shell_->turn(now, std::exchange(todo_, {}));
  is_busy_ = false;
  if (!shell_ || !shell_->is_over()) return;
  const auto why = shell_->why();
  shell_.reset();
  events_.push_back({host, agent_event::ended{why}});
}

std::int64_t inner_agent::next_wake() const {
  return shell_ ? shell_->next_wake() : policies::agent_core::never;
}

}  // namespace tidegate::launch
