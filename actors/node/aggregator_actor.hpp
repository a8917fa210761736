// The aggregator as a CAF actor on a reactor: hands on to its shell what its mailbox and its
// link bring (actors/aggregator/aggregator_shell.hpp).
#pragma once

#include <memory>
#include <optional>

#include "actors/aggregator/aggregator_shell.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/control/member_reports.hpp"
#include "actors/control/messages.hpp"
#include "actors/reactor/frame_mailbox.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "actors/store/aggregator_store.hpp"

namespace tidegate::actors {

class aggregator final : public reactor_actor<shard_actor::base> {
 public:
  // `coordinator`: null in tests that are one process.
  // `run`: token of the run.
  aggregator(caf::actor_config& config, reactor& home,
             std::shared_ptr<coordinator_locator> coordinator = {}, std::uint64_t run = 0)
      : reactor_actor<shard_actor::base>(config, home),
        coordinator_(std::move(coordinator)),
        run_(run) {}

  const char* name() const override { return "tidegate.aggregator"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  caf::result<std::uint64_t> admit(const policies::admit_worker_call& call);
  caf::result<chunk_clocks> sum_progress(const policies::sum_progress_call& call);
  caf::result<std::uint64_t> shut_out(const policies::shut_out_call& call);
  caf::result<std::uint64_t> hold(const policies::join_barrier_call& call);
  caf::result<done_atom> change_membership(const policies::membership_call& call);
  caf::result<done_atom> close_job(const policies::close_job_call& call);

  void report_arrivals(const policies::shard_report& report) override {
    tell_arrivals(coordinator_, run_, home().address(), report);
  }
  void report_unreachable(const unreachable_peers& peers) override {
    report_outages(coordinator_, run_, home().address(), peers);
  }

  std::shared_ptr<coordinator_locator> coordinator_;
  std::uint64_t run_;
  std::optional<aggregator_store> store_;
  std::optional<aggregator_shell> shell_;
  std::unique_ptr<frame_mailbox> sink_;
};

}  // namespace tidegate::actors
