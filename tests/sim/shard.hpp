// A simulated shard process; see actors/shard. One thread.
#pragma once

#include <map>
#include <tuple>

#include "policies/replication_core.hpp"
#include "policies/shard_core.hpp"
#include "policies/shard_part.hpp"
#include "policies/shard_slots.hpp"
#include "tests/sim/front.hpp"

namespace tidegate::sim {

// Before the front in the order of construction, which wants it.
struct shard_base {
  policies::shard_core core_;
};

class shard_process final : private shard_base,
                            public front_process,
                            public policies::replication_shell {
 public:
  using effects = policies::shard_effects;
  using peer_id = policies::front_shell::peer_id;

  // `member`: of the shard's group. `of`: the process that it is a part of.
  shard_process(world& where, process_id id, std::uint32_t host, std::uint32_t index,
                policies::group_member member, const std::string& of = "")
      : front_process(
            where, id, role::shard,
            of.empty()
                ? policies::name_of({index, member.number}, where.plan.spec.shards).to_string()
                : of + "shard-" + std::to_string(index),
            host, index, core_),
        member_(member),
        replication_(*this, core_, front_) {
    replication_.set_patience(where.plan.set.patience);
  }

  // In order: nobody needs it any more.
  void retire(const answer_to& reply);
  runtime::status open_job(const policies::open_job_call& call) override;
  runtime::status open_table(const policies::open_table_call& call) override;
  void close_job(std::uint64_t token) override;
  answer checkpoint(const policies::checkpoint_call& call) override;
  void lead(const policies::lead_call& call, const answer_to& reply) override;
  void follow(const policies::follow_call& call) override;
  void promote(const policies::promote_call& call) override;

 private:
  void ask_to_join(process_id coordinator, answer_to back) override;
  void check_behind(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const override;
  void connection_broke(process_id peer) override;
  bool is_mending() const override {
    return front_process::is_mending() || replication_.is_mending();
  }
  void mend() override {
    front_process::mend();
    replication_.mend(local_now());
  }
  std::optional<peer_id> reconnect(policies::neighbour to) override;
  using front_process::reconnect;
  bool waits_for_replica() const override { return replication_.waits(); }
  struct job_options {
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    std::uint32_t members = 1;
    bool known = false;
    bool is_bsp = false;
    std::uint64_t cut_clock = 0;  // of the last checkpoint call
    std::string name;
    std::unique_ptr<disk_view> folder;
    policies::shard_part part;
  };
  struct chunk_state {
    runtime::kernels::optimizer how;
    runtime::kernels::adam_powers powers;
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    std::uint64_t job = 0;
    std::vector<float> state1, state2;
    policies::chunk_description about;
  };

  void apply(const effects::apply& what, inputs from) override;
  void hand_on(const effects::hand_on&, inputs) override;
  void ask(const effects::ask&) override;
  void snapshot(const effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;
  runtime::status restore(const policies::open_table_call& call,
                          const std::vector<policies::owned_chunk>& chunks);
  void write_part(std::uint64_t token);
  void step(std::uint64_t token, const std::shared_ptr<policies::file_writer>& writer);

  // The group's; shard_replica.cpp.
  memory_view place_replication(const runtime::frame_header& header) override;
  void on_replication(process_id from, const runtime::frame_header& header,
                      memory_view arrived) override;
  void replication_lost(const runtime::frame_header& header) override;
  void replicate(const effects::replicate& what) override;
  void seed(const effects::seed& what) override { replication_.seed(what); }
  void replicate_farewell(const effects::replicate_farewell& what) override;
  void followed(const effects::followed& what) override { replication_.followed(what); }
  void send_plain(peer_id to, const runtime::frame_header& header) override {
    sender_.send(to, header);
  }
  void lend_sums(peer_id to, const runtime::frame_header& header) override {
    sender_.send(to, header);  // where they are is where their process is
  }
  void keep_sum(const effects::replicate& what) override;
  bool map_sums(const runtime::frame_header& header, policies::payload_handle place) override;
  policies::payload_handle sum_in_place(std::uint32_t slot, std::uint32_t plane) override;
  void post_soon() override;
  void send_step(peer_id to, const runtime::frame_header& header,
                 const effects::replicate& what) override;
  void send_seed(peer_id to, const runtime::frame_header& header, const effects::seed& what,
                 const policies::shard_core::seed_state& state, bool again) override;
  void seed_arrived(std::uint32_t slot) override { seeds_.erase(slot); }
  runtime::expected<policies::shard_core::seed_state> take_seed(
      std::uint32_t slot, policies::payload_handle payload) override;
  void release_payload(policies::payload_handle payload) override { release(payload); }
  std::uint64_t chunk_bytes(std::uint32_t slot) const override { return bytes_of(slot); }
  void in_sync(std::uint32_t view) override;
  void replaced(std::uint32_t view) override;
  memory_view sum_room(std::uint32_t slot, std::uint64_t clock);
  memory_view keep_sum(const effects::apply& what,
                       const std::vector<runtime::kernels::gradient>& of);
  void look_again();
  void put_out_behind(process_id who) const;
  process_id serves_since(std::uint64_t epoch);
  std::set<process_id> put_out_before(process_id served);

  policies::group_member member_;
  policies::replication_core replication_;
  bool follows_ = false;
  process_id primary_ = 0;  // whom it follows, or has followed last
  process_id replica_ = 0;  // whom it leads
  bool looking_ = false;
  bool posting_ = false;
  std::uint32_t led_view_ = 0;
  answer_to led_;  // waits for in_sync
  // By table, chunk and plane; whoever has mapped them keeps them.
  using sums = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, region>;
  std::shared_ptr<sums> sums_ = std::make_shared<sums>();
  std::shared_ptr<sums> lent_;             // of the primary
  process_id from_ = 0;                    // whose frame is being handled
  std::map<std::uint32_t, region> seeds_;  // under way, by slot
  std::map<std::uint64_t, job_options> jobs_;
  std::vector<chunk_state> chunks_;  // by slot
};

}  // namespace tidegate::sim
