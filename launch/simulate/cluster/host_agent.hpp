// The agent of a simulated host that is not the launcher's: the world of its shell
// (launch/shell/agent_shell.hpp). Its processes end with it, as their kernel has it. One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "launch/shell/agent_shell.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

class host_agent final : public frameless_process,
                         private launch::launcher_port,
                         private host_processes::owner {
 public:
  // `start`: as the launcher counts it.
  host_agent(world& where, process_id id, std::uint32_t host, std::uint64_t start);

  void start() override;
  void ends() override { own_.die(); }
  // The launcher says something, or closes what was connected, over the control connection of
  // this number.
  void hears(std::uint32_t number, const policies::launcher_frame& frame);
  void closed(std::uint32_t number);

  std::vector<process_id> children() const { return own_.children(); }

 private:
  using link_news = launch::agent_turn::link_news;

  void peer_lost(process_id peer) override;
  void control_broke(process_id peer, std::uint32_t number) override;

  void after(nanoseconds delay, std::function<void()> action) override {
    later(delay, std::move(action));
  }
  void happened(policies::agent_report report) override;
  void all_ended() override;
  bool is_over() const override { return shell_.is_over(); }
  process_id parent() const override { return id(); }

  void connect() override;
  void disconnect() override;
  void send(const policies::agent_frame& frame) override;

  void link(link_news news);
  void turn_soon();
  void turn();
  void after_turn();
  void wake_at(std::int64_t when);

  host_processes own_;
  launch::agent_shell shell_;
  launch::agent_turn happened_;  // since the last turn
  bool turn_due_ = false;
  std::int64_t waking_ = policies::agent_core::never;
  process_id launcher_ = 0;   // that it is connected to; 0: none
  std::uint32_t number_ = 0;  // of the control connection to it
};

}  // namespace tidegate::sim
