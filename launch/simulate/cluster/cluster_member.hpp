// The membership of a simulated process: carries out the steps of its shell
// (actors/membership/membership_shell.hpp) over the simulated network, and decides nothing.
// One thread.
#pragma once

#include "actors/membership/membership_shell.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

class cluster_member {
 public:
  explicit cluster_member(process& self);
  virtual ~cluster_member() = default;
  cluster_member(const cluster_member&) = delete;
  cluster_member& operator=(const cluster_member&) = delete;

  // The coordinator that was found last; 0: none yet.
  process_id coordinator() const noexcept { return coordinator_; }

 protected:
  void enter_cluster();
  // The network says that this process is gone, whatever it is.
  void lost(process_id peer);

  virtual void ask_to_join(process_id coordinator, answer_to back) = 0;
  // It is in.
  virtual void settled() {}
  virtual void gave_up(const runtime::status& why) = 0;

 private:
  void carry_out(const actors::membership_step& step);
  void next(const runtime::status& result);

  process& self_;
  actors::membership_shell shell_;
  process_id coordinator_ = 0;
  bool stays_ = false;
};

}  // namespace tidegate::sim
