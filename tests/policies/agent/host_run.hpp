// One host, its agent and the launcher's contact with it, with a connection that breaks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/agent/core.hpp"
#include "policies/launcher/host_contact.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

inline constexpr std::int64_t unreachable = 1000 * millisecond;

// One host: its contact, the agent that was started last, and what lies between them.
class host_run {
 public:
  explicit host_run(bool starts_agent = true, std::uint64_t launcher = 100)
      : contact(0, {.name = "blue",
                    .launcher = launcher,
                    .starts_agent = starts_agent,
                    .unreachable_ns = unreachable,
                    .start_ns = 3 * unreachable}) {}

  void begin() {
    contact.begin(now, to_launcher);
    carry_out();
  }
  // An agent, in place of what was there.
  void start(std::uint64_t number) {
    agent = std::make_unique<agent_core>(
        agent_options{.agent = ++agents, .start = number, .unreachable_ns = patience});
    agent->begin(now, to_agent);
  }
  // One that this launcher has not started says hello over a connection of its own.
  void start_stray() {
    if (starts.empty()) return;
    stray = ++connections;
    contact.greeted(now, stray, {.agent = 999, .start = 1, .launcher = 0}, 0, to_launcher);
    carry_out();
  }
  std::int64_t silent_for() const { return now - heard_at; }
  void order(std::uint32_t number) {
    contact.order(now, agent_orders::end_spare{number}, to_launcher);
    carry_out();
  }
  void report(std::uint32_t number) {
    agent->report(now, agent_reports::spare_ready{.spare = number}, to_agent);
    carry_out();
  }
  // The connection breaks; what is on its way is lost.
  void cut() {
    if (connection == 0) return;
    frames_up.clear();
    frames_down.clear();
    contact.disconnected(connection);
    agent->disconnected(now, to_agent);
    connection = 0;
  }
  // A process of the host's is killed: its agent.
  void kill_agent() {
    lose_agent();
    tell_end("killed");
    carry_out();
  }
  void tell_end(const std::string& how) {
    if (!starts.empty()) contact.agent_ended(now, how, to_launcher);
  }
  void lose_agent() {
    cut_silently();
    agent.reset();
    ends_all = false;
    to_agent.all.clear();
    carried_out.clear();
  }
  void cut_silently() {
    frames_up.clear();
    frames_down.clear();
    contact.disconnected(connection);
    connection = 0;
  }
  void pass(std::int64_t time) {
    for (const auto until = now + time; now < until;) {
      now += millisecond;
      if (now >= contact.next_wake()) contact.tick(now, to_launcher);
      if (agent && now >= agent->next_wake()) agent->tick(now, to_agent);
      carry_out();
    }
  }
  void carry_out() {
    while (true) {
      if (!to_agent.all.empty()) {
        auto effect = std::move(to_agent.all.front());
        to_agent.all.erase(to_agent.all.begin());
        std::visit([this](auto& content) { act(content); }, effect);
      } else if (!to_launcher.all.empty()) {
        for (auto& effect : std::exchange(to_launcher.all, {}))
          std::visit([this](auto& content) { act(content); }, effect);
      } else if (!frames_up.empty()) {
        const auto frame = std::move(frames_up.front());
        frames_up.pop_front();
        if (const auto* hello = std::get_if<agent_frame::hello>(&frame.content))
          contact.greeted(now, connection, *hello, frame.taken, to_launcher);
        else
          contact.heard(now, connection, frame, to_launcher);
      } else if (!frames_down.empty()) {
        const auto frame = std::move(frames_down.front());
        frames_down.pop_front();
        heard_at = now;
        agent->heard(now, frame, to_agent);
      } else if (ends_all) {
        ends_all = false;
        carried_out.clear();
        agent->all_ended(now, to_agent);
      } else {
        return;
      }
    }
  }

  void act(const agent_effects::connect&) {
    if (!reachable) return agent->not_connected(now, to_agent);
    connection = ++connections;
    agent->connected(now, to_agent);
  }
  void act(const agent_effects::disconnect&) { cut_silently(); }
  void act(const agent_effects::send& send) {
    if (connection != 0) frames_up.push_back(send.frame);
  }
  void act(const agent_effects::carry_out& order) {
    carried_out.push_back(std::get<agent_orders::end_spare>(order.order).spare);
  }
  void act(const agent_effects::end_all&) {
    ++clearings;
    ends_all = true;
  }
  void act(const agent_effects::quit& quit) {
    why = quit.why.empty() ? "asked" : quit.why;
    lose_agent();
    tell_end(why);
  }
  void act(const host_effects::start_agent& starting) {
    starts.push_back(starting.start);
    if (starts_itself) start(starting.start);
  }
  void act(const host_effects::end_agent&) {
    ++ended_by_force;
    lose_agent();
    tell_end("ended by force");
  }
  void act(const host_effects::send& send) {
    if (stray != 0 && send.over == stray)
      stray_admitted = std::holds_alternative<launcher_frame::welcome>(send.frame.content);
    if (connection == send.over && connection != 0) frames_down.push_back(send.frame);
  }
  void act(const host_effects::close& close) {
    if (close.connection == connection && agent) cut();
  }
  void act(const host_effects::reported& report) {
    reported.push_back(std::get<agent_reports::spare_ready>(report.content).spare);
  }
  void act(const host_effects::up&) { ++ups; }
  void act(const host_effects::down& down) {
    downs.push_back(down.why);
    reported.clear();
  }

  void act(const host_effects::stays_down& host) { stay_downs.push_back(host.why); }

  std::int64_t now = 0;
  host_contact contact;
  std::unique_ptr<agent_core> agent;
  agent_effects to_agent;
  host_effects to_launcher;
  std::deque<agent_frame> frames_up;
  std::deque<launcher_frame> frames_down;
  std::uint64_t agents = 0;
  agent_connection connection = 0, connections = 0;
  agent_connection stray = 0;
  bool stray_admitted = false;
  std::int64_t heard_at = 0;
  std::int64_t patience = unreachable;  // of agents, by their own clock
  bool reachable = true;
  bool starts_itself = true;
  bool ends_all = false;
  int ups = 0, clearings = 0, ended_by_force = 0;
  std::string why;
  std::vector<std::string> downs;
  std::vector<std::string> stay_downs;
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> carried_out, reported;
};
using numbers = std::vector<std::uint32_t>;

}  // namespace tidegate::policies
