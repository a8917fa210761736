// The shard actor: carries out what policies::shard_core decides, on the reactor that owns its
// link. What it shares with aggregators is in front.hpp.
#pragma once

#include <map>
#include <memory>

#include "actors/coordinator_place.hpp"
#include "actors/frame_mailbox.hpp"
#include "actors/front.hpp"
#include "actors/messages.hpp"
#include "actors/part_writer.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/shard_store.hpp"
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
                    public front::owner {
 public:
  shard(caf::actor_config& config, reactor& home, std::uint32_t index, shard_keeping where = {})
      : reactor_actor<shard_actor::base>(config, home),
        index_(index),
        keeping_(std::move(where)) {}

  const char* name() const override { return "tidegate.shard"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  runtime::buffer place(const runtime::frame_header& header) override {
    return front_->place(header);
  }
  void on_sent(runtime::send_token token) override { front_->on_sent(token); }
  void on_frame_lost(const runtime::frame_header& header) override {
    front_->on_frame_lost(header);
  }
  void apply(const front::effects::apply& what, front::inputs from) override {
    store_->apply(what, from);
  }
  void hand_on(const front::effects::hand_on& what, front::inputs from) override;
  void ask(const front::effects::ask& what) override;
  void snapshot(const front::effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;

  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  runtime::status restore(const policies::open_table_call& call, const std::string& job,
                          std::span<const policies::owned_chunk> chunks);
  caf::result<std::uint64_t> checkpoint(const policies::checkpoint_call& call);
  void write_part(std::uint64_t token);
  void part_written(const part_written_event& event);

  struct job_home {
    store_options options;
    std::string name;
    policies::shard_part part;
    part_writer writer;  // ends before what it reads
  };

  std::uint32_t index_;
  shard_keeping keeping_;
  std::unique_ptr<frame_mailbox> sink_;
  policies::shard_core core_;
  std::unique_ptr<shard_store> store_;
  std::unique_ptr<front> front_;
  std::map<std::uint64_t, job_home> jobs_;  // by token
};

}  // namespace tidegate::actors
