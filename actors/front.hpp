// Carries out what policies::front_core says for a shard or an aggregator: the memory of its
// members, and the link to them. The sums themselves are the owner's. Part of an actor; of its
// reactor's thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "actors/frame_sender.hpp"
#include "actors/front_memory.hpp"
#include "actors/messages.hpp"
#include "actors/reactor.hpp"
#include "policies/front_core.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

class front final : public policies::front_shell, public reactor::continuation {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    virtual void apply(const effects::apply& what, inputs from) = 0;
    virtual void hand_on(const effects::hand_on& what, inputs from) = 0;
    virtual void ask(const effects::ask& what) = 0;
    virtual void snapshot(const effects::snapshot& what,
                          const policies::shard_core::cut_state& state) = 0;
    // To and of a replica; an aggregator has none.
    virtual void replicate(const effects::replicate& what) = 0;
    virtual void seed(const effects::seed& what) = 0;
    virtual void replicate_farewell(const effects::replicate_farewell& what) = 0;
    virtual void followed(const effects::followed& what) = 0;
  };

  // `index`: of the shard, as its answers name it.
  front(owner& who, reactor& home, policies::shard_core& shard, front_memory& memory,
        std::uint32_t index);

  // The answer to the call.
  caf::result<std::uint64_t> admit(const policies::admit_worker_call& call);
  void table_opened(std::uint64_t job, std::uint32_t table);

  // What frame_mailbox::owner asks for, of pushes and attaches.
  runtime::buffer place(const runtime::frame_header& header);
  // `done`: what the sender says of the token.
  void sent(policies::send_name done) { core_.sent(done); }
  void on_sent(runtime::send_token token) { sent(sender_.on_sent(token)); }
  void on_frame_lost(const runtime::frame_header& header) { core_.frame_lost(header); }
  // A frame from a worker; others are counted.
  void on_frame(frame_event& event);
  void on_peer_lost(const peer_lost_event& event);
  // Makes connections to members that broke again; to be called while is_mending().
  void mend();
  bool is_mending() const noexcept { return core_.is_mending(); }
  // Nothing is sent any more, and no memory may be asked back.
  void close();
  // For the owner's own frames, whose tokens come to on_sent(), too.
  frame_sender& sender() noexcept { return sender_; }
  policies::front_core& core() noexcept { return core_; }

 private:
  struct member_memory {
    runtime::window_map memory;
    std::map<std::uint32_t, runtime::window> gradients;  // by table
  };
  // Of a process that has been replaced, mapped as long as pushes lie in it that are not summed
  // yet.
  struct retired_memory {
    std::size_t pushes = 0;
    runtime::window_map memory;
  };

  void apply(const effects::apply& what, inputs from) override { owner_.apply(what, from); }
  void hand_on(const effects::hand_on& what, inputs from) override {
    owner_.hand_on(what, from);
  }
  void ask(const effects::ask& what) override { owner_.ask(what); }
  void snapshot(const effects::snapshot& what,
                const policies::shard_core::cut_state& state) override {
    owner_.snapshot(what, state);
  }
  void replicate(const effects::replicate& what) override { owner_.replicate(what); }
  void seed(const effects::seed& what) override { owner_.seed(what); }
  void replicate_farewell(const effects::replicate_farewell& what) override {
    owner_.replicate_farewell(what);
  }
  void followed(const effects::followed& what) override { owner_.followed(what); }
  void send(peer_id to, const runtime::frame_header& header) override;
  void send_place(peer_id to, const runtime::frame_header& header) override;
  void send_parameters(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                       std::uint32_t plane, policies::send_name name) override;
  void drop(peer_id to, std::vector<policies::send_name>& names) override;
  std::optional<peer_id> reconnect(const policies::member_key& member) override;
  policies::refusal map_gradients(const policies::member_key& who, std::uint32_t table,
                                  std::span<const std::byte> place) override;
  policies::payload_handle keep_in_place(const policies::member_key& who, std::uint32_t table,
                                         std::uint32_t half, std::uint32_t slot) override;
  void release(policies::payload_handle payload) override;
  void forget(const policies::member_key& who) override;
  std::uint64_t bytes_of(std::uint32_t slot) const override { return memory_.bytes_of(slot); }
  void go_on_soon() override { home_.after_progress(*this); }
  void post_acks_soon() override { home_.before_progress(acks_); }
  void note_refusal(const policies::frame_tag& tag, policies::refusal code) override;
  void go_on() override { core_.go_on(); }  // the reactor's
  struct acks final : reactor::continuation {
    explicit acks(policies::front_core& core) : core_(core) {}
    void go_on() override { core_.post_acks(); }
    policies::front_core& core_;
  };

  void count_off(const float* gradient);

  owner& owner_;
  reactor& home_;
  front_memory& memory_;
  frame_sender sender_;
  policies::front_core core_;
  acks acks_{core_};
  std::map<policies::member_key, member_memory> members_;
  std::map<policies::member_key, std::string> addresses_;
  std::vector<retired_memory> retired_;
  std::map<std::uint32_t, runtime::place_wire> names_;  // of tables, as sent
  runtime::size_pools attach_pool_;
  std::uint64_t refusals_ = 0;
  std::uint64_t windows_refused_ = 0;
};

}  // namespace tidegate::actors
