// The simulated launcher: the shell of policies::launch_core, see launch/run. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/launch_core.hpp"
#include "tests/sim/process.hpp"

namespace tidegate::sim {

class launcher final : public frameless_process {
 public:
  launcher(world& where, process_id id);
  // The run goes on in a new epoch, if it has been begun before.
  static launcher& of(world& where);

  void start() override;
  // A process leaves by itself; `well`: with exit code 0.
  void exits(process_id who, bool well);

  // How the run has ended, when every process has.
  struct end {
    policies::run_outcome how = policies::run_outcome::done;
    std::string why;
  };
  const std::optional<end>& ended() const noexcept { return ended_; }

 private:
  void peer_lost(process_id peer) override;
  // It sees by other means whether they live.
  void control_broke(process_id, std::uint32_t) override {}
  // To a coordinator, a death may look like a connection that broke.
  void tell_ended(const policies::process_name& name, std::uint32_t incarnation);

  void scale(const scaling& what);
  void ask_to_scale(const scaling& what, std::uint32_t epoch);
  void scale(const shard_scaling& what);
  void ask_to_scale(const shard_scaling& what, std::uint32_t epoch);
  void carry_out();
  void perform(const policies::launch_effects::start& what);
  void perform(const policies::launch_effects::renew& what);
  void perform(const policies::launch_effects::watch&);
  void poll_on(std::uint32_t epoch);
  void perform(const policies::launch_effects::poll_now&);
  void perform(const policies::launch_effects::stop_cluster& what);
  void perform(const policies::launch_effects::leave& what);
  void perform(const policies::launch_effects::save&) {}  // nobody interrupts it
  void perform(const policies::launch_effects::terminate& what);
  void perform(const policies::launch_effects::kill& what);
  void perform(const policies::launch_effects::note& what);
  void perform(const policies::launch_effects::complain& what);
  void perform(const policies::launch_effects::show_log&) {}
  void perform(const policies::launch_effects::conclude& what);

  std::unique_ptr<process> make(const policies::process_name& name, process_id id,
                                const policies::launch_effects::start& what);
  void begin(const policies::launch_effects::start& what);
  void end_early(policies::process_number number);
  void poll();
  void wake_at(std::int64_t when);

  std::unique_ptr<disk_view> folder_;  // of the run
  policies::launch_core core_;
  policies::launch_effects effects_;
  std::map<policies::process_number, process_id> running_;
  std::map<policies::process_number, bool> starting_;  // whether they still may
  std::map<process_id, bool> left_;                    // by themselves: whether well
  std::uint64_t polls_ = 0;                            // asked for at once
  std::int64_t waking_ = policies::launch_core::never;
  bool scaling_ = false;  // the coordinator has been asked
  std::optional<end> ended_;
};

}  // namespace tidegate::sim
