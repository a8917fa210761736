#include "launch/simulate/cluster/cluster_member.hpp"

#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"

namespace tidegate::sim {

cluster_member::cluster_member(process& self)
    : self_(self), shell_(self.world_.plan.spec.start_timeout_ms) {}

void cluster_member::enter_cluster() {
  carry_out(shell_.begin(self_.local_now()));
}

void cluster_member::lost(process_id peer) {
  if (peer == coordinator_ && std::exchange(stays_, false)) next({});
}

void cluster_member::next(const runtime::status& result) {
  carry_out(shell_.next(self_.local_now(), result));
}

// Where a coordinator listens is known to all, not whether one does.
void cluster_member::carry_out(const actors::membership_step& step) {
  using action = actors::membership_step::action;
  switch (step.kind) {
    case action::find:
      return self_.ask<coordinator_process>(
          self_.world_.coordinator,
          [](coordinator_process&, const answer_to& reply) { reply({}); },
          [this, found = self_.world_.coordinator](const answer& got) {
            if (got.result.ok()) coordinator_ = found;
            next(got.result);
          });
    case action::join:
      return ask_to_join(coordinator_, [this](const answer& got) { next(got.result); });
    case action::rest:
      return self_.later(step.pause_ns, [this] { next({}); });
    case action::stay:
      stays_ = true;
      return settled();
    case action::give_up:
      return gave_up(step.why);
  }
}

}  // namespace tidegate::sim
