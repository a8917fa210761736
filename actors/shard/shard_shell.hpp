// The shell of a shard: carries out what policies::shard_core decides. What it shares with
// aggregators is in ingress_shell.hpp, what it does for its neighbours in a chain is in
// shard_chain.cpp, checkpoints are in shard_checkpoints.cpp. One thread, the home's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/seam/frame_shell.hpp"
#include "actors/seam/look_schedule.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/shard/ingress_shell.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/shard/shard_port.hpp"
#include "policies/checkpoint/restore_source.hpp"
#include "policies/checkpoint/shard_part.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/replication_core.hpp"

namespace tidegate::actors {

class shard_shell final : public frame_shell,
                          private ingress_shell::owner,
                          private continuation,
                          private policies::replication_shell {
 public:
  using completion = std::function<void(const runtime::status&)>;

  shard_shell(shell_home& home, shard_memory& memory, shard_port& port, std::uint32_t index)
      : home_(home),
        memory_(memory),
        port_(port),
        index_(index),
        ingress_(*this, home, core_, memory.ingress(), index),
        replication_(*this, core_, ingress_.core()) {
    replication_.set_patience(home.limits().patience);
    replication_.set_reconnect_limits(home.limits().reconnects);
  }

  // Calls of the coordinator. Errors: invalid_argument, not_found (no such job), unavailable
  // (the last checkpoint is being written), refused; those of link, memory and storage.
  runtime::status open_job(const policies::open_job_call& call);
  runtime::status open_table(const policies::open_table_call& call);
  runtime::expected<std::uint64_t> admit(const policies::admit_worker_call& call);
  auto sum_progress(const policies::sum_progress_call& call) {
    return core_.admin().first_clocks(call.token, call.ranks);
  }
  std::uint64_t shut_out(const policies::shut_out_call& call) {
    return ingress_.core().shut_out(call);
  }
  std::uint64_t hold(const policies::hold_call& call) { return ingress_.core().hold(call); }
  void change_roster(const policies::roster_call& call) { ingress_.core().change_roster(call); }
  void close_job(std::uint64_t token);
  runtime::expected<std::uint64_t> checkpoint(const policies::checkpoint_call& call);
  // The port has written a file, or could not, and why.
  void part_written(std::uint64_t token, const policies::written_file& file,
                    const std::string& failure);
  // `done` is called once, now or when the replica has everything. Errors: cancelled (another
  // view has begun); those of the link.
  void lead(const policies::lead_call& call, completion done);
  runtime::status follow(const policies::follow_call& call);
  // Returns false if an earlier call has said so.
  bool promote(const policies::promote_call& call);

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override {
    name_sent(ingress_.sender().on_sent(token));
  }
  void on_frame_lost(const runtime::frame_header& header) override;
  void on_frame(frame_event& event) override;
  void on_peer_lost(const peer_lost_event& event) override;
  void look() override;
  // Nothing is sent any more.
  void close();

  // Returns the checkpoint whose part is being taken or written, or was last.
  policies::checkpoint_id checkpoint_under_way(std::uint64_t token) const {
    return jobs_.at(token).part.report().id;
  }
  ingress_shell& ingress() noexcept { return ingress_; }
  policies::shard_core& core() noexcept { return core_; }
  const policies::shard_core& core() const noexcept { return core_; }
  const policies::replication_core& replication() const noexcept { return replication_; }

 private:
  using effects = policies::shard_effects;
  using inputs = policies::front_shell::inputs;
  using peer_id = policies::front_shell::peer_id;
  struct job_home {
    store_options options;
    std::string name;
    policies::restore_source restores;  // open until workers come in
    policies::shard_part part;
  };
  // A connection within the chain of the group.
  struct chain_link {
    peer_id peer = 0;
    std::string address;
  };

  bool is_mending() const { return ingress_.is_mending() || replication_.is_mending(); }
  void look_soon() {
    looks_.ask(is_mending(), [this] { return replication_.is_busy(); });
  }

  void apply(const effects::apply& step, inputs from) override { memory_.apply(step, from); }
  void hand_on(const effects::hand_on& step, inputs from) override;
  void ask(const effects::ask& step) override;
  void snapshot(const effects::snapshot& step,
                const policies::shard_core::cut_state& state) override;
  runtime::status restore(const policies::open_table_call& call, job_home& job,
                          std::span<const policies::owned_chunk> chunks);
  void write_part(std::uint64_t token);

  // The chain.
  // A frame of that name has been sent, or never will be.
  void name_sent(policies::send_name name);
  void replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by);
  void followed_by(std::optional<chain_link> follower);
  void on_replication(frame_event& event);
  void replicate(const effects::replicate& step) override;
  void seed(const effects::seed& chunk) override { replication_.seed(chunk); }
  void replicate_farewell(const effects::replicate_farewell& farewell) override;
  void followed(const effects::followed& step) override { replication_.followed(step); }
  void send_plain(peer_id to, const runtime::frame_header& header) override {
    ingress_.sender().send(to, header);
  }
  void lend_sums(peer_id to, const runtime::frame_header& header) override;
  void keep_sum(const effects::replicate& step) override {
    memory_.keep_sum(step.slot, step.clock, step.payload);
  }
  bool map_sums(const runtime::frame_header& header, policies::payload_handle place) override;
  policies::payload_handle sum_in_place(std::uint32_t slot, std::uint32_t plane) override {
    return memory_.sum_in_place(slot, plane);
  }
  std::optional<peer_id> reconnect(policies::neighbour to) override;
  void post_soon() override;
  void go_on() override;
  void send_step(peer_id to, const runtime::frame_header& header,
                 const effects::replicate& step) override;
  void send_seed(peer_id to, const runtime::frame_header& header, const effects::seed& chunk,
                 const policies::shard_core::seed_state& state, bool again) override;
  // A copy that is being sent goes when the link has no more need of it.
  void seed_arrived(std::uint32_t slot) override { seeding_.erase(slot); }
  runtime::expected<policies::shard_core::seed_state> take_seed(
      std::uint32_t slot, policies::payload_handle payload) override;
  void release_payload(policies::payload_handle payload) override {
    memory_.ingress().release(payload);
  }
  std::uint64_t chunk_bytes(std::uint32_t slot) const override {
    return memory_.ingress().bytes_of(slot);
  }
  void in_sync(std::uint32_t view) override;
  void replaced(std::uint32_t view) override;

  shell_home& home_;
  shard_memory& memory_;
  shard_port& port_;
  std::uint32_t index_;
  policies::shard_core core_;
  ingress_shell ingress_;
  policies::replication_core replication_;
  look_schedule looks_{home_};
  outage_watch outages_{home_};
  std::map<std::uint64_t, job_home> jobs_;  // by token
  std::optional<chain_link> leader_;        // to the process that this one follows
  std::optional<chain_link> follower_;      // to the process that it leads
  std::uint32_t led_view_ = 0;
  completion led_;  // until in_sync()
  using seed_bytes = std::shared_ptr<const std::vector<float>>;
  std::map<std::uint32_t, seed_bytes> seeding_;  // chunks as they were, by slot
  std::map<std::uint64_t, seed_bytes> seeds_;    // being sent, by name
  std::uint64_t last_seed_ = 0;
  std::map<std::uint32_t, runtime::place_wire> sum_names_;  // of tables, as sent
  bool reads_sums_ = false;  // of the process before it in the chain, in place
  bool posting_ = false;
};

}  // namespace tidegate::actors
