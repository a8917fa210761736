// The shard actor: carries out what policies::shard_core decides, on the reactor that owns its
// link.
//
// Effects are carried out in order, a bounded amount of summing at a time, so that frames are
// taken in while a large table is being updated.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/frame_mailbox.hpp"
#include "actors/frame_sender.hpp"
#include "actors/messages.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/shard_store.hpp"
#include "policies/shard_core.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

class shard final : public reactor_actor<shard_actor::base>, public frame_mailbox::owner {
 public:
  shard(caf::actor_config& config, reactor& home, std::uint32_t index);
  ~shard() override;

  const char* name() const override { return "tidegate.shard"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  using effects = policies::shard_effects;
  struct peer_of {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
  };
  struct worker_link {
    runtime::peer_id peer = 0;
    bool lost = false;  // its memory stays mapped: steps that read it may be waiting
    runtime::window_map memory;
    std::map<std::uint32_t, runtime::window> gradients;  // by table
    std::uint64_t payload_bytes_copied = 0;              // of its pushes
  };
  struct job_state {
    store_options options;
    std::map<std::uint32_t, worker_link> workers;  // by rank
  };

  runtime::buffer place(const runtime::frame_header& header) override;
  runtime::buffer place_push(const runtime::frame_header& header);
  void on_sent(runtime::send_token token) override;
  void on_frame_lost(const runtime::frame_header& header) override;

  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  caf::result<done_atom> admit_worker(const policies::admit_worker_call& call);
  caf::result<done_atom> close_job(const policies::close_job_call& call);
  void on_frame(frame_event& event);
  void on_push(const policies::frame_tag& tag, frame_event& event);
  void on_attach(const policies::frame_tag& tag, const frame_event& event);
  void on_ring(policies::frame_tag tag, const runtime::frame_header& header);
  void ring_table(const policies::frame_tag& tag, const runtime::window& gradients,
                  const policies::shard_core::ring_request& what);
  void on_peer_lost(const peer_lost_event& event);

  // Of the list, until the budget is spent; the rest follows in a later turn.
  void carry_out();
  void perform(const effects::apply& what);
  void perform(const effects::release& what) { store_->release(what.payload); }
  void go_on();
  void perform(const effects::acknowledge& what);
  void perform(const effects::reply& what);
  void perform(const effects::ring_acknowledge& what);
  void perform(const effects::ring_reply& what);

  worker_link* find(std::uint64_t job, std::uint32_t rank);
  bool reply_carries(const effects::acknowledge& what);
  const worker_link* reachable(const policies::frame_tag& tag);
  void send(const policies::frame_tag& tag, runtime::frame_header header,
            std::span<const std::byte> small_payload = {});
  void reply_sent(runtime::send_token token);
  runtime::send_token take_token(const effects::reply& what);
  void count_refusal(const policies::frame_tag& tag, policies::refusal code);

  std::uint32_t index_;
  frame_sender sender_;
  std::unique_ptr<frame_mailbox> sink_;
  std::unique_ptr<shard_store> store_;
  policies::shard_core core_;
  effects effects_;
  std::size_t performed_ = 0;                // of effects_.list
  std::uint64_t budget_ = 0;                 // bytes that may be summed in this turn
  bool going_on_ = false;                    // a message to go on is in the mailbox
  std::map<std::uint64_t, job_state> jobs_;  // by token
  std::map<runtime::peer_id, peer_of> peers_;
  std::vector<policies::payload_handle> handles_;  // of the ring being handled
  struct sending {
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint32_t plane = 0;
  };
  std::vector<sending> sending_;  // by token - 1
  std::vector<runtime::send_token> sending_free_;
  std::map<std::uint32_t, runtime::place_wire> names_;  // of tables, as sent
  runtime::size_pools attach_pool_;
  std::uint64_t refusals_ = 0;
  std::uint64_t windows_refused_ = 0;
};

}  // namespace tidegate::actors
