// The simulated launcher: starts the processes of a plan, watches them, and decides when and
// how the run ends, as launch/run does. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/process.hpp"

namespace tidegate::sim {

enum class outcome : std::uint8_t { done, job_failed, process_died };

class launcher final : public process {
 public:
  launcher(world& where, process_id id) : process(where, id, role::launcher, "launcher", 0) {}
  static launcher& of(world& where);

  void start() override;
  // A process leaves by itself; `well`: with exit code 0.
  void exits(process_id who, bool well);

  // How the run has ended.
  const std::optional<outcome>& ended() const noexcept { return ended_; }
  const std::string& why() const noexcept { return why_; }

 private:
  memory_view place(process_id, const runtime::frame_header&) override { return {}; }
  void on_frame(process_id, const runtime::frame_header&, memory_view) override {}
  void on_frame_lost(process_id, const runtime::frame_header&) override {}
  void on_sent(std::uint64_t) override {}
  void peer_lost(process_id peer) override;

  void start_rest();
  void watch(process_id who);
  void poll();
  void on_status(const policies::cluster_status& status);
  void end(outcome how, const std::string& why);

  std::map<process_id, std::string> running_;
  std::set<process_id> left_well_;
  std::size_t workers_left_ = 0;
  std::optional<outcome> ended_;
  std::string why_;
};

}  // namespace tidegate::sim
