// The shell of an aggregator: carries out what policies::aggregator_core decides. To its
// members it is a shard (actors/shard/ingress_shell.hpp), to its upstream a worker. One
// thread, the home's.
#pragma once

#include <string>
#include <vector>

#include "actors/aggregator/aggregator_memory.hpp"
#include "actors/seam/frame_shell.hpp"
#include "actors/seam/look_schedule.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/shard/ingress_shell.hpp"
#include "policies/aggregator/core.hpp"

namespace tidegate::actors {

class aggregator_shell final : public frame_shell, private ingress_shell::owner {
 public:
  aggregator_shell(shell_home& home, aggregator_memory& memory)
      : home_(home),
        memory_(memory),
        ingress_(*this, home, core_.ingress(), memory.ingress(), 0) {}

  // Calls of the coordinator, which are answered at once. Errors: invalid_argument (not a call
  // for an aggregator), not_found (of another job), refused, those of the link and the memory.
  runtime::status open_job(const policies::open_job_call& call);
  runtime::status open_table(const policies::open_table_call& call);
  runtime::expected<std::uint64_t> admit(const policies::admit_worker_call& call);
  auto sum_progress(const policies::sum_progress_call& call) {
    return core_.ingress().admin().first_clocks(call.token, call.ranks);
  }
  std::uint64_t shut_out(const policies::shut_out_call& call) {
    return ingress_.core().shut_out(call);
  }
  // A worker that joins pushes to shards, and no aggregator holds.
  std::uint64_t hold(const policies::join_barrier_call&) { return 0; }
  void change_membership(const policies::membership_call& call);
  void close_job(std::uint64_t token);
  void upstream_moved(const policies::shard_moved& moved);

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override { ingress_.on_sent(token); }
  void on_frame_lost(const runtime::frame_header& header) override;
  void on_frame(frame_event& event) override;
  void on_peer_lost(const peer_lost_event& event) override;
  void look() override;

  ingress_shell& ingress() noexcept { return ingress_; }
  policies::shard_core& core() noexcept { return core_.ingress(); }

 private:
  using effects = policies::ingress_shell::effects;
  using inputs = policies::ingress_shell::inputs;

  policies::reply_code apply(const effects::apply& step, inputs from) override;
  double measure(const effects::measure& step, inputs from) override;
  void show(std::span<const std::uint32_t>, std::uint32_t) override {}  // they are as they came
  void hand_on(const effects::hand_on& step, inputs from) override;
  void ask(const effects::ask& step) override;
  void snapshot(const effects::snapshot& step,
                const policies::shard_core::cut_state& state) override;
  void replicate(const effects::replicate&) override { has_no_replica(); }
  void seed(const effects::seed&) override { has_no_replica(); }
  void replicate_farewell(const effects::replicate_farewell&) override { has_no_replica(); }
  void followed(const effects::followed&) override { has_no_replica(); }
  static void has_no_replica();
  void reply_lost(const runtime::frame_header& header);
  bool is_mending() const { return ingress_.core().is_mending() || core_.is_mending(); }
  void look_soon() {
    looks_.ask(is_mending(), [this] { return core_.is_busy(); });
  }
  bool reconnect(std::uint32_t shard);
  void drop_waiting(std::uint32_t shard);
  void say_farewell();
  // Posts frames_; `from`: the inputs of their sums.
  void post(std::uint32_t slot, inputs from);

  shell_home& home_;
  aggregator_memory& memory_;
  policies::aggregator_core core_;
  ingress_shell ingress_;  // members know one shard, the first
  look_schedule looks_{home_};
  outage_watch outages_{home_};
  std::uint64_t token_ = 0;  // of the job
  table_sizes sizes_;
  std::vector<runtime::peer_id> upstream_;
  std::vector<std::string> upstream_addresses_;
  std::vector<policies::upstream_frame> frames_;  // to be posted now
};

}  // namespace tidegate::actors
