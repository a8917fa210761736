#include "launch/simulate/cluster/host_agent.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/launcher.hpp"

namespace tidegate::sim {

host_agent::host_agent(world& where, process_id id, std::uint32_t host, std::uint64_t start)
    : frameless_process(where, id, role::agent, "agent-" + std::to_string(host), host),
      own_(where, *this, host),
      shell_({.agent = id,
              .start = start,
              .unreachable_ns = where.plan.spec.supervision.unreachable_ms * millisecond},
             own_, own_, static_cast<launch::launcher_port&>(*this), 0) {}

void host_agent::start() {
  later(0, [this] {
    shell_.begin(local_now());
    after_turn();
  });
}

void host_agent::happened(policies::agent_report report) {
  happened_.reports.push_back(std::move(report));
  turn_soon();
}

void host_agent::all_ended() {
  happened_.all_ended = true;
  turn_soon();
}

void host_agent::link(link_news news) {
  happened_.link.push_back(news);
  turn_soon();
}

void host_agent::turn_soon() {
  if (shell_.is_over() || std::exchange(turn_due_, true)) return;
  later(0, [this] {
    turn_due_ = false;
    turn();
  });
}

void host_agent::turn() {
  shell_.turn(local_now(), std::exchange(happened_, {}));
  after_turn();
}

void host_agent::after_turn() {
  if (!shell_.is_over()) return wake_at(shell_.next_wake());
  note("leaves: " + (shell_.why().empty() ? "asked to" : shell_.why()));
  later(0, [this] { world_.kill(id()); });
}

void host_agent::wake_at(std::int64_t when) {
  if (when == policies::agent_core::never || when >= waking_) return;
  waking_ = when;
  later(std::max<nanoseconds>(millisecond, when - local_now()), [this] {
    waking_ = policies::agent_core::never;
    turn_soon();
  });
}

void host_agent::connect() {
  const auto to = world_.launcher;
  ask<launcher>(
      to,
      [host = host(), me = id()](launcher& of, const answer_to& reply) {
        of.agent_connects(host, me);
        reply({});
      },
      [this, to](const sim::answer& got) {
        if (!got.result.ok()) return link(link_news::not_connected);
        launcher_ = to;
        number_ = world_.net.control_number(id(), to);
        link(link_news::connected);
      });
}

void host_agent::disconnect() {
  if (launcher_ == 0) return;
  tell_over<launcher>(
      std::exchange(launcher_, 0), number_,
      [me = id()](launcher& of, const answer_to&) { of.agent_leaves(me); },
      [](const sim::answer&) {});
}

void host_agent::send(const policies::agent_frame& frame) {
  if (launcher_ == 0) return;
  tell_over<launcher>(
      launcher_, number_,
      [frame, me = id()](launcher& of, const answer_to&) { of.agent_says(me, frame); },
      [](const sim::answer&) {});
}

void host_agent::hears(std::uint32_t number, const policies::launcher_frame& frame) {
  if (launcher_ == 0 || number != number_) return;
  happened_.frames.push_back(frame);
  turn_soon();
}

void host_agent::closed(std::uint32_t number) {
  if (launcher_ == 0 || number != number_) return;
  launcher_ = 0;
  link(link_news::disconnected);
}

void host_agent::peer_lost(process_id peer) {
  if (peer != launcher_) return own_.lost(peer);
  launcher_ = 0;
  link(link_news::disconnected);
}

void host_agent::control_broke(process_id peer, std::uint32_t number) {
  if (peer != launcher_ || number < number_) return;
  launcher_ = 0;
  link(link_news::disconnected);
}

}  // namespace tidegate::sim
