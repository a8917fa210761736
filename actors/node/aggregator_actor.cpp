#include "actors/node/aggregator_actor.hpp"

#include "actors/control/call_result.hpp"
#include "actors/control/errors.hpp"
#include "actors/control/from_coordinator.hpp"

namespace tidegate::actors {

namespace {

caf::error no_group() {
  return to_error({runtime::errc::invalid_argument, "an aggregator has no replica"});
}

}  // namespace

aggregator::behavior_type aggregator::make_behavior() {
  store_.emplace(home().link().memory());
  shell_.emplace(shells_home(), *store_);
  sink_ = std::make_unique<frame_mailbox>(*shell_, shells_home(), *this, home());
  home().open_link(sink_.get());
  return {
      from_coordinator(this, coordinator_, &aggregator::open_job),
      from_coordinator(this, coordinator_, &aggregator::open_table),
      from_coordinator(this, coordinator_, &aggregator::admit),
      from_coordinator(this, coordinator_, &aggregator::sum_progress),
      from_coordinator(this, coordinator_, &aggregator::shut_out),
      from_coordinator(this, coordinator_, &aggregator::hold),
      from_coordinator(this, coordinator_, &aggregator::change_membership),
      from_coordinator(this, coordinator_, &aggregator::close_job),
      [](const policies::checkpoint_call&) -> caf::result<std::uint64_t> {
        return to_error({runtime::errc::invalid_argument, "an aggregator has nothing to keep"});
      },
      [](const part_written_event&) {},
      [](const policies::lead_call&) -> caf::result<done_atom> { return no_group(); },
      [](const policies::follow_call&) -> caf::result<done_atom> { return no_group(); },
      [](const policies::promote_call&) -> caf::result<done_atom> { return no_group(); },
      [this](const policies::shard_moved& moved) { shell_->upstream_moved(moved); },
      [this](stop_atom) { quit(); },
      [this](look_atom) { shell_->look(); },
      [this](frame_event& event) { shell_->on_frame(event); },
      [this](const peer_lost_event& event) { shell_->on_peer_lost(event); },
  };
}

void aggregator::on_exit() {
  shell_->ingress().sender().post_all();
  // The sink may be told of frames until the link is closed.
  home().close_link();
  sink_->close();
  shell_->ingress().close();
}

caf::result<done_atom> aggregator::open_job(const policies::open_job_call& call) {
  return to_result(shell_->open_job(call));
}

caf::result<done_atom> aggregator::open_table(const policies::open_table_call& call) {
  return to_result(shell_->open_table(call));
}

caf::result<std::uint64_t> aggregator::admit(const policies::admit_worker_call& call) {
  return to_result(shell_->admit(call));
}

caf::result<chunk_clocks> aggregator::sum_progress(const policies::sum_progress_call& call) {
  return shell_->sum_progress(call);
}

caf::result<std::uint64_t> aggregator::shut_out(const policies::shut_out_call& call) {
  return shell_->shut_out(call);
}

caf::result<std::uint64_t> aggregator::hold(const policies::join_barrier_call& call) {
  return shell_->hold(call);
}

caf::result<done_atom> aggregator::change_membership(const policies::membership_call& call) {
  shell_->change_membership(call);
  return done_atom::value;
}

caf::result<done_atom> aggregator::close_job(const policies::close_job_call& call) {
  shell_->close_job(call.token);
  return done_atom::value;
}

}  // namespace tidegate::actors
