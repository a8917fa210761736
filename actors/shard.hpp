// The shard actor: carries out what policies::shard_core decides, on the reactor that owns its
// link. What it shares with aggregators is in front.hpp.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "actors/coordinator_place.hpp"
#include "actors/frame_mailbox.hpp"
#include "actors/front.hpp"
#include "actors/messages.hpp"
#include "actors/part_writer.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/shard_store.hpp"
#include "policies/replication_core.hpp"
#include "policies/restore_source.hpp"
#include "policies/shard_core.hpp"
#include "policies/shard_part.hpp"

namespace tidegate::actors {

// Where a shard's checkpoints are, and who hears of them; only used when a job has any.
struct shard_keeping {
  std::string run_dir;
  std::shared_ptr<coordinator_place> coordinator;
  std::uint64_t token = 0;  // of the run
};

class shard final : public reactor_actor<shard_actor::base>,
                    public frame_mailbox::owner,
                    public front::owner,
                    public reactor::continuation,
                    public policies::replication_shell {
 public:
  using effects = policies::shard_effects;
  using peer_id = policies::front_shell::peer_id;

  shard(caf::actor_config& config, reactor& home, std::uint32_t index, shard_keeping where = {})
      : reactor_actor<shard_actor::base>(config, home),
        index_(index),
        keeping_(std::move(where)) {}

  const char* name() const override { return "tidegate.shard"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  struct job_home {
    store_options options;
    std::string name;
    policies::restore_source restores;  // open until workers come in
    policies::shard_part part;
    part_writer writer;  // ends before what it reads
  };

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override;
  // A frame of that name has been sent, or never will be.
  void name_sent(policies::send_name name);
  void on_frame_lost(const runtime::frame_header& header) override;
  void apply(const front::effects::apply& what, front::inputs from) override {
    store_->apply(what, from);
  }
  void hand_on(const front::effects::hand_on& what, front::inputs from) override;
  void ask(const front::effects::ask& what) override;
  void snapshot(const front::effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;

  caf::result<done_atom> close_job(const policies::close_job_call& call);
  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  runtime::status restore(const policies::open_table_call& call, job_home& job,
                          std::span<const policies::owned_chunk> chunks);
  caf::result<std::uint64_t> admit(const policies::admit_worker_call& call) {
    if (const auto job = jobs_.find(call.token); job != jobs_.end())
      job->second.restores.release();
    auto admitted = front_->admit(call);
    look_soon(is_mending());
    return admitted;
  }
  caf::result<std::uint64_t> shut_out(const policies::shut_out_call& call) {
    return front_->core().shut_out(call);
  }
  caf::result<std::uint64_t> hold(const policies::hold_call& call) {
    return front_->core().hold(call);
  }
  caf::result<done_atom> change_roster(const policies::roster_call& call) {
    front_->core().change_roster(call);
    return done_atom::value;
  }
  caf::result<chunk_clocks> sum_progress(const policies::sum_progress_call& call) {
    return core_.first_clocks(call.token, call.ranks);
  }
  caf::result<std::uint64_t> checkpoint(const policies::checkpoint_call& call);
  void write_part(std::uint64_t token);
  void part_written(const part_written_event& event);

  // The group's; shard_replica.cpp.
  caf::result<done_atom> lead(const policies::lead_call& call);
  caf::result<done_atom> follow(const policies::follow_call& call);
  caf::result<done_atom> promote(const policies::promote_call& call);
  // A connection within the chain of the group.
  struct chain_link {
    peer_id peer = 0;
    std::string address;
  };
  void replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by);
  void followed_by(std::optional<chain_link> follower);
  void on_replication(frame_event& event);
  void replicate(const effects::replicate& what) override { replication_->replicate(what); }
  void seed(const effects::seed& what) override { replication_->seed(what); }
  void replicate_farewell(const effects::replicate_farewell& what) override {
    replication_->replicate_farewell(what);
  }
  void followed(const effects::followed& what) override { replication_->followed(what); }
  void send_plain(peer_id to, const runtime::frame_header& header) override;
  void lend_sums(peer_id to, const runtime::frame_header& header) override;
  void keep_sum(const effects::replicate& what) override {
    store_->keep_sum(what.slot, what.clock, what.payload);
  }
  bool map_sums(const runtime::frame_header& header, policies::payload_handle place) override;
  policies::payload_handle sum_in_place(std::uint32_t slot, std::uint32_t plane) override;
  std::optional<peer_id> reconnect(policies::neighbour to) override;
  void on_peer_lost(const peer_lost_event& event);
  bool is_mending() const { return front_->is_mending() || replication_->is_mending(); }
  void look();
  void post_soon() override;
  void go_on() override;
  void send_step(peer_id to, const runtime::frame_header& header,
                 const effects::replicate& what) override;
  void send_seed(peer_id to, const runtime::frame_header& header, const effects::seed& what,
                 const policies::shard_core::seed_state& state, bool again) override;
  // A copy that is being sent goes when the link has no more need of it.
  void seed_arrived(std::uint32_t slot) override { seeding_.erase(slot); }
  runtime::expected<policies::shard_core::seed_state> take_seed(
      std::uint32_t slot, policies::payload_handle payload) override;
  void release_payload(policies::payload_handle payload) override {
    store_->memory().release(payload);
  }
  std::uint64_t chunk_bytes(std::uint32_t slot) const override {
    return store_->memory().bytes_of(slot);
  }
  void in_sync(std::uint32_t view) override;
  void replaced(std::uint32_t view) override;

  std::uint32_t index_;
  shard_keeping keeping_;
  std::unique_ptr<frame_mailbox> sink_;
  policies::shard_core core_;
  std::unique_ptr<shard_store> store_;
  std::unique_ptr<front> front_;
  std::map<std::uint64_t, job_home> jobs_;  // by token
  std::unique_ptr<policies::replication_core> replication_;
  std::optional<chain_link> leader_;    // to the process that this one follows
  std::optional<chain_link> follower_;  // to the process that it leads
  std::uint32_t led_view_ = 0;
  std::optional<caf::typed_response_promise<done_atom>> led_;  // until in_sync()
  using seed_bytes = std::shared_ptr<const std::vector<float>>;
  std::map<std::uint32_t, seed_bytes> seeding_;  // chunks as they were, by slot
  std::map<std::uint64_t, seed_bytes> seeds_;    // being sent, by name
  std::uint64_t last_seed_ = 0;
  std::map<std::uint32_t, runtime::place_wire> sum_names_;  // of tables, as sent
  runtime::window_map primary_;                             // its memory, as a replica
  std::map<std::uint32_t, runtime::window> lent_;           // likewise: sums, by table
  bool posting_ = false;
  runtime::size_pools seed_pool_{std::make_shared<runtime::heap_source>()};  // to receive in
};

}  // namespace tidegate::actors
