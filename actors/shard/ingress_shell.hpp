// Carries out what policies::ingress_core says for a shard or an aggregator: the link to its
// members, and their memory. The sums themselves are the owner's. One thread, the home's.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/seam/frame_gate.hpp"
#include "actors/seam/frame_sender.hpp"
#include "actors/seam/frame_shell.hpp"
#include "actors/seam/ingress_memory.hpp"
#include "actors/seam/outage_watch.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/shard/arrival_reports.hpp"
#include "policies/shard/ingress_core.hpp"

namespace tidegate::actors {

class ingress_shell final : public policies::ingress_shell, public continuation {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    virtual policies::reply_code apply(const effects::apply& step, inputs from) = 0;
    virtual double measure(const effects::measure& step, inputs from) = 0;
    virtual void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) = 0;
    virtual void hand_on(const effects::hand_on& step, inputs from) = 0;
    virtual void ask(const effects::ask& step) = 0;
    virtual void snapshot(const effects::snapshot& step,
                          const policies::shard_core::cut_state& state) = 0;
    // To and of a replica; an aggregator has none.
    virtual void replicate(const effects::replicate& step) = 0;
    virtual void seed(const effects::seed& step) = 0;
    virtual void replicate_farewell(const effects::replicate_farewell& step) = 0;
    virtual void followed(const effects::followed& step) = 0;
  };

  // `index`: of the shard, as its answers name it.
  ingress_shell(owner& of, shell_home& home, policies::shard_core& shard,
                ingress_memory& memory, std::uint32_t index);

  // The answer to the call. Errors: refused.
  runtime::expected<std::uint64_t> admit(const policies::admit_worker_call& call);
  void table_opened(std::uint64_t job, std::uint32_t table);

  // frame_shell's part for pushes and attaches.
  runtime::buffer place(const runtime::frame_header& header);
  // `done`: what the sender says of the token.
  void sent(policies::send_name done) {
    frames_.sent(done);
    row_answers_.erase(done);
    core_.sent(done);
  }
  void on_sent(runtime::send_token token) { sent(sender_.on_sent(token)); }
  void on_frame_lost(const runtime::frame_header& header) { core_.frame_lost(header); }
  // A frame from a worker; others are counted.
  void on_frame(frame_event& event);
  void on_peer_lost(const peer_lost_event& event);
  // Adds the members that have been out of reach for a while.
  void add_outages(outage_watch& watch) const;
  // For the chain, whose frames this process handles, too.
  arrival_reports& arrivals() noexcept { return arrivals_; }
  // Nothing is sent any more, and no memory may be asked back.
  void close();
  // For the owner's own frames, whose tokens come to on_sent(), too: past all that is under
  // way, or after it.
  frame_sender& sender() noexcept { return sender_; }
  frame_gate& frames() noexcept { return frames_; }
  policies::ingress_core& core() noexcept { return core_; }
  const policies::ingress_core& core() const noexcept { return core_; }

 private:
  policies::reply_code apply(const effects::apply& step, inputs from) override;
  double measure(const effects::measure& step, inputs from) override {
    return owner_.measure(step, from);
  }
  void hand_on(const effects::hand_on& step, inputs from) override;
  void ask(const effects::ask& step) override { owner_.ask(step); }
  void snapshot(const effects::snapshot& step,
                const policies::shard_core::cut_state& state) override {
    owner_.snapshot(step, state);
  }
  void replicate(const effects::replicate& step) override { owner_.replicate(step); }
  void seed(const effects::seed& step) override { owner_.seed(step); }
  void replicate_farewell(const effects::replicate_farewell& step) override {
    owner_.replicate_farewell(step);
  }
  void followed(const effects::followed& step) override { owner_.followed(step); }
  void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) override {
    owner_.show(slots, version_buffer);
  }
  void send(peer_id to, const runtime::frame_header& header) override {
    frames_.send(to, header);
  }
  void send_place(peer_id to, const runtime::frame_header& header) override;
  void send_parameters(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                       std::uint32_t version_buffer, policies::send_name name) override;
  void send_results(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                    std::uint32_t version_buffer, policies::payload_handle call,
                    policies::send_name name) override;
  bool may_answer(std::uint32_t slot, policies::payload_handle call) override;
  void drop(peer_id to, std::vector<policies::send_name>& names) override;
  std::optional<peer_id> reconnect(const policies::member_key& member) override;
  policies::reply_code map_gradients(const policies::member_key& member, std::uint32_t table,
                                     std::span<const std::byte> place) override;
  policies::payload_handle keep_in_place(const policies::member_key& member,
                                         std::uint32_t table, std::uint32_t half,
                                         std::uint32_t slot, bool on_device) override {
    arrivals_.count_in(memory_.bytes_of(slot));
    return memory_.keep_in_place(member, table, half, slot, on_device);
  }
  bool map_on_device(const policies::member_key& member, std::uint32_t table,
                     std::span<const std::byte> places) override;
  void send_device_places(peer_id to, const runtime::frame_header& header,
                          std::uint64_t known) override;
  void release(policies::payload_handle payload) override { memory_.release(payload); }
  void forget(const policies::member_key& member) override;
  std::uint64_t bytes_of(std::uint32_t slot) const override { return memory_.bytes_of(slot); }
  void go_on_soon() override { home_.after_progress(*this); }
  void post_acks_soon() override { home_.before_progress(acks_); }
  void note_refusal(const policies::frame_tag& tag, policies::reply_code code) override;
  void go_on() override;  // the home's
  struct acks final : continuation {
    explicit acks(policies::ingress_core& core) : core_(core) {}
    void go_on() override { core_.post_acks(); }
    policies::ingress_core& core_;
  };

  bool is_of_rows(const runtime::frame_header& header) const {
    return shard_.registry().has_rows(header.table);
  }
  void send_rows(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                 std::uint32_t version_buffer, policies::payload_handle request,
                 policies::send_name name);

  owner& owner_;
  shell_home& home_;
  const policies::shard_core& shard_;
  ingress_memory& memory_;
  frame_sender sender_;
  frame_gate frames_;
  policies::ingress_core core_;
  arrival_reports arrivals_{home_, shard_, core_};
  acks acks_{core_};
  std::map<policies::member_key, std::string> addresses_;
  std::map<std::uint32_t, runtime::place_wire> names_;  // of tables, as sent
  std::map<std::uint32_t, std::list<std::vector<std::byte>>> device_names_;  // likewise
  std::map<policies::send_name, runtime::buffer> row_answers_;  // until they have left
  runtime::buffer next_answer_;                                 // its memory
  std::uint64_t refusals_ = 0;
  std::uint64_t windows_refused_ = 0;
  std::uint64_t device_windows_refused_ = 0;
};

}  // namespace tidegate::actors
