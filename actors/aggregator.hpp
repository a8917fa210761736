// The aggregator actor: carries out what policies::aggregator_core decides, on the reactor that
// owns its link. To its members it is a shard (front.hpp), to its upstream a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/aggregator_store.hpp"
#include "actors/coordinator_place.hpp"
#include "actors/frame_mailbox.hpp"
#include "actors/front.hpp"
#include "actors/messages.hpp"
#include "actors/reactor_actor.hpp"
#include "policies/aggregator_core.hpp"

namespace tidegate::actors {

class aggregator final : public reactor_actor<shard_actor::base>,
                         public frame_mailbox::owner,
                         public front::owner {
 public:
  // `coordinator`: null in tests that are one process.
  aggregator(caf::actor_config& config, reactor& home,
             std::shared_ptr<coordinator_place> coordinator = {})
      : reactor_actor<shard_actor::base>(config, home), coordinator_(std::move(coordinator)) {}

  const char* name() const override { return "tidegate.aggregator"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override { front_->on_sent(token); }
  void on_frame_lost(const runtime::frame_header& header) override;
  void apply(const front::effects::apply& what, front::inputs from) override;
  void hand_on(const front::effects::hand_on& what, front::inputs from) override;
  void ask(const front::effects::ask& what) override;
  void replicate(const front::effects::replicate&) override { no_replica(); }
  void seed(const front::effects::seed&) override { no_replica(); }
  void replicate_farewell(const front::effects::replicate_farewell&) override { no_replica(); }
  void followed(const front::effects::followed&) override { no_replica(); }
  static void no_replica();
  void upstream_moved(const policies::shard_moved& what);
  void reply_lost(const runtime::frame_header& header);
  void look();
  bool is_mending() const { return front_->is_mending() || core_.is_mending(); }
  bool reconnect(std::uint32_t shard);
  void say_farewell();
  void snapshot(const front::effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;

  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  caf::result<std::uint64_t> admit(const policies::admit_worker_call& call);
  caf::result<chunk_clocks> sum_progress(const policies::sum_progress_call& call) {
    return core_.front().first_clocks(call.token, call.ranks);
  }
  caf::result<std::uint64_t> shut_out(const policies::shut_out_call& call) {
    return front_->core().shut_out(call);
  }
  caf::result<std::uint64_t> hold(const policies::hold_call&) {
    return 0;  // whoever joins pushes to shards
  }
  caf::result<done_atom> change_roster(const policies::roster_call& call);
  caf::result<done_atom> close_job(const policies::close_job_call& call);
  void close_job(std::uint64_t token);
  void on_frame(frame_event& event);
  void on_peer_lost(const peer_lost_event& event);
  // Posts frames_; `from`: what their sums are made of.
  void post(std::uint32_t slot, front::inputs from);

  std::unique_ptr<frame_mailbox> sink_;
  policies::aggregator_core core_;
  std::unique_ptr<aggregator_store> store_;
  std::shared_ptr<coordinator_place> coordinator_;
  std::unique_ptr<front> front_;
  std::uint64_t token_ = 0;  // of the job
  front_memory::sizes sizes_;
  std::vector<runtime::peer_id> upstream_;
  std::vector<std::string> upstream_addresses_;
  std::vector<policies::upstream_frame> frames_;  // to be posted now
};

}  // namespace tidegate::actors
