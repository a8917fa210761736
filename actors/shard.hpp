// The shard actor: carries out what policies::shard_core decides, on the reactor that owns its
// link.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/frame_mailbox.hpp"
#include "actors/messages.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/shard_store.hpp"
#include "policies/shard_core.hpp"

namespace tidegate::actors {

class shard final : public reactor_actor<shard_actor::base>, public frame_mailbox::owner {
 public:
  shard(caf::actor_config& config, reactor& home);
  ~shard() override;

  const char* name() const override { return "tidegate.shard"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  struct peer_of {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
  };

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override;
  void on_frame_lost(const runtime::frame_header& header) override;

  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  caf::result<done_atom> admit_worker(const policies::admit_worker_call& call);
  caf::result<done_atom> close_job(const policies::close_job_call& call);
  void on_frame(frame_event& event);
  void carry_out();
  void send(runtime::frame_kind kind, const policies::frame_tag& tag, policies::refusal code);
  void send_parameters(const policies::shard_effects::reply& reply);
  void count_refusal(const policies::frame_tag& tag, policies::refusal code);

  struct job_state {
    std::uint32_t workers = 0;
    float scale = 1.0F;
    std::map<std::uint32_t, runtime::peer_id> peers;  // by rank
  };

  std::unique_ptr<frame_mailbox> sink_;
  std::unique_ptr<shard_store> store_;
  policies::shard_core core_;
  policies::shard_effects effects_;
  std::map<std::uint64_t, job_state> jobs_;  // by token
  std::map<runtime::peer_id, peer_of> peers_;
  struct sending {
    std::uint32_t slot = 0;
    runtime::buffer parameters;
  };
  std::vector<sending> sending_;  // by token - 1
  std::vector<runtime::send_token> sending_free_;
  std::uint64_t refusals_ = 0;
};

}  // namespace tidegate::actors
