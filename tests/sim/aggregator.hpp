// A simulated aggregator process; see actors/aggregator. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/aggregator_core.hpp"
#include "tests/sim/front.hpp"

namespace tidegate::sim {

struct aggregator_base {
  policies::aggregator_core core_;
};

class aggregator_process final : private aggregator_base, public front_process {
 public:
  aggregator_process(world& where, process_id id, std::uint32_t host, std::string job,
                     std::uint32_t index, std::uint32_t incarnation)
      : front_process(where, id, role::aggregator,
                      "aggregator-" + job + "-" + std::to_string(index), host, 0,
                      core_.front()),
        job_(std::move(job)),
        number_(index),
        incarnation_(incarnation) {}

  answer admit(const policies::admit_worker_call& call) override;
  answer change_roster(const policies::roster_call& call) override;

  runtime::status open_job(const policies::open_job_call& call) override;
  runtime::status open_table(const policies::open_table_call& call) override;
  void close_job(std::uint64_t token) override;

 private:
  void ask_to_join(process_id coordinator, answer_to back) override;
  bool upstream_frame(process_id from, const runtime::frame_header& header) override;
  void upstream_lost() override {
    if (!core_.upstream_moves()) close_job(token_);  // else another takes its place
  }
  void connection_broke(process_id peer) override;
  bool is_mending() const override { return front_process::is_mending() || core_.is_mending(); }
  void mend() override;
  memory_view place_upstream(const runtime::frame_header& header) override;
  bool is_upstream(process_id who) const override;
  void upstream_moved(const policies::shard_moved& what) override;
  void reply_lost(const runtime::frame_header& header);
  void on_frame_lost(process_id from, const runtime::frame_header& header) override;
  void apply(const effects::apply&, inputs) override;
  void hand_on(const effects::hand_on& what, inputs from) override;
  void ask(const effects::ask& what) override;
  void say_farewell();
  void post(std::uint32_t slot, inputs from);
  void tick();
  memory_view sum_again(const policies::upstream_frame& frame);
  memory_view sum(std::uint32_t slot, const policies::upstream_frame& frame, inputs from);

  std::string job_;
  std::uint32_t number_;
  std::uint32_t incarnation_;
  std::uint64_t token_ = 0;
  std::uint32_t members_ = 0;
  std::vector<process_id> upstream_;
  std::vector<policies::upstream_frame> frames_;
  bool ticking_ = false;
  // Sums on their way, by slot, node and parity of the clock.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, region> sums_;
};

}  // namespace tidegate::sim
