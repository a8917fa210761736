// The side of a shard or an aggregator that faces workers: takes their frames to a shard core
// and carries out what it decides.
//
// Effects are carried out in the order of shard_queue, a bounded amount of summing at a time,
// so that frames are taken in while a large table is being updated. What differs between the
// two, the sums themselves, is the owner's. Part of an actor; of its reactor's thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "actors/frame_sender.hpp"
#include "actors/front_memory.hpp"
#include "actors/messages.hpp"
#include "actors/reactor.hpp"
#include "policies/shard_core.hpp"
#include "policies/shard_queue.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

class front final : public reactor::continuation {
 public:
  using effects = policies::shard_effects;
  using inputs = std::span<const effects::input>;

  class owner {
   public:
    virtual ~owner() = default;
    virtual void apply(const effects::apply& what, inputs from) = 0;
    virtual void hand_on(const effects::hand_on& what, inputs from) = 0;
    virtual void ask(const effects::ask& what) = 0;
  };

  // `index`: of the shard, as its answers name it.
  front(owner& who, reactor& home, policies::shard_core& core, front_memory& memory,
        std::uint32_t index);

  runtime::status admit(const policies::admit_worker_call& call);
  void table_opened(std::uint32_t table);

  // What frame_mailbox::owner asks for, of pushes and attaches.
  runtime::buffer place(const runtime::frame_header& header);
  void on_sent(runtime::send_token token);
  void on_frame_lost(const runtime::frame_header& header);
  // A frame from a worker; others are counted.
  void on_frame(frame_event& event);
  void on_peer_lost(const peer_lost_event& event);
  // Nothing is sent any more, and no memory may be asked back.
  void close() {
    home_.forget(*this);
    sender_.drop();
    sending_.clear();
  }
  // For the owner's own frames, whose tokens come to on_sent(), too.
  frame_sender& sender() noexcept { return sender_; }

  // For effects of calls about that table that the owner makes itself; carry_out() follows.
  effects& pending(std::uint64_t job, std::uint32_t table);
  // Calls the core about the whole job, call(effects), when all that waits for the job has been
  // carried out, and carries out what it says.
  template <class Call>
  void about_job(std::uint64_t job, const Call& call) {
    drain(job);
    call(queue_.of(job, runtime::whole_job));
    drain(job);
  }
  // Of what waits, until the budget is spent; the rest follows when the link has been looked
  // at.
  void carry_out();
  // The reactor's: the next part.
  void go_on() override {
    going_on_ = false;
    carry_out();
  }

 private:
  struct peer_of {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
  };
  struct worker_link {
    std::uint32_t incarnation = 0;
    runtime::peer_id peer = 0;
    bool lost = false;  // its memory stays mapped: steps that read it may be waiting
    runtime::window_map memory;
    std::map<std::uint32_t, runtime::window> gradients;  // by table
    std::uint64_t payload_bytes_copied = 0;              // of its pushes
  };
  // Of a process that has been replaced, mapped as long as pushes lie in it that are not summed
  // yet.
  struct retired_memory {
    std::uint64_t job = 0;
    std::size_t pushes = 0;
    runtime::window_map memory;
  };
  struct sending {
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint32_t plane = 0;
  };

  runtime::buffer place_push(const runtime::frame_header& header);
  void on_push(const policies::frame_tag& tag, frame_event& event);
  void on_attach(const policies::frame_tag& tag, const frame_event& event);
  void on_ring(policies::frame_tag tag, const runtime::frame_header& header);
  void ring_table(const policies::frame_tag& tag, const runtime::window& gradients,
                  std::uint32_t plane, const policies::shard_core::ring_request& what);

  void go_on_soon();
  void drain(std::uint64_t job);
  template <class Effect>
  inputs inputs_of(const Effect& what, inputs all);
  void perform(const effects::apply& what, inputs all);
  void perform(const effects::hand_on& what, inputs all);
  void perform(const effects::ask& what, inputs) { owner_.ask(what); }
  void perform(const effects::release& what, inputs);
  void perform(const effects::acknowledge& what, inputs);
  void perform(const effects::reply& what, inputs);
  void perform(const effects::ring_acknowledge& what, inputs);
  void perform(const effects::ring_reply& what, inputs);

  worker_link* find(std::uint64_t job, std::uint32_t rank);
  const worker_link* reachable(const policies::frame_tag& tag);
  void send(const policies::frame_tag& tag, runtime::frame_header header,
            std::span<const std::byte> small_payload = {});
  runtime::send_token take_token(const effects::reply& what);
  void give_back(runtime::send_token token);
  void leave(runtime::peer_id peer);
  void retire(std::uint64_t job, runtime::window_map memory);
  void count_off(const float* gradient);
  void count_refusal(const policies::frame_tag& tag, policies::refusal code);

  owner& owner_;
  reactor& home_;
  policies::shard_core& core_;
  front_memory& memory_;
  std::uint32_t index_;
  frame_sender sender_;
  policies::shard_queue queue_;
  std::uint64_t budget_ = 0;  // bytes that may be summed in this turn
  bool going_on_ = false;     // the reactor will call go_on()
  std::map<std::uint64_t, std::map<std::uint32_t, worker_link>> workers_;  // by job, by rank
  std::map<runtime::peer_id, peer_of> peers_;
  std::vector<retired_memory> retired_;
  std::vector<policies::payload_handle> handles_;  // of the ring being handled
  std::vector<sending> sending_;                   // by token - 1
  std::vector<runtime::send_token> sending_free_;
  std::map<std::uint32_t, runtime::place_wire> names_;  // of tables, as sent
  runtime::size_pools attach_pool_;
  std::uint64_t refusals_ = 0;
  std::uint64_t windows_refused_ = 0;
};

}  // namespace tidegate::actors
