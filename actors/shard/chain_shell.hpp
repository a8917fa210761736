// Carries out what policies::replication_core says for a shard: the connections to its
// neighbours in the chain of its group, steps and copies of chunks that go to its replica, and
// sums that it reads in its primary's memory. The shard's shell calls it with what the
// coordinator says of the chain, with frames of the neighbours, and with what the shard's core
// decides for a replica. One thread, the home's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "actors/seam/frame_shell.hpp"
#include "actors/seam/outage_watch.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/shard/ingress_shell.hpp"
#include "actors/shard/seed_copies.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/shard/shard_port.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/replication_core.hpp"

namespace tidegate::actors {

class chain_shell final : private continuation, private policies::replication_shell {
 public:
  using completion = std::function<void(const runtime::status&)>;

  // `ingress`: sends the frames, and has the memory of workers.
  chain_shell(shell_home& home, shard_memory& memory, shard_port& port,
              policies::shard_core& shard, ingress_shell& ingress);

  // A job has been opened, with so many workers; before its tables.
  void job_opened(std::uint64_t token, std::uint32_t workers);
  // shard_shell::lead(). Returns true if another replica is led from now on.
  bool lead(const policies::lead_call& call, completion done);
  runtime::status follow(const policies::follow_call& call);
  // Returns false if an earlier call has said so.
  bool promote(const policies::promote_call& call);

  // For frames of which replication_core::is_mine() returns true.
  runtime::buffer place(const runtime::frame_header& header);
  void on_frame(frame_event& event);
  // A frame of that name has been sent, or never will be. Returns false if it is a worker's.
  bool sent(policies::send_name name) { return seeds_.sent(name); }
  // Returns true if the connection to a neighbour broke that may live: it is made again.
  bool on_peer_lost(const peer_lost_event& event);
  // Adds the neighbours that have been out of reach for a while.
  void add_outages(outage_watch& watch) const;
  // Nothing is sent any more.
  void close();

  policies::replication_core& core() noexcept { return core_; }
  const policies::replication_core& core() const noexcept { return core_; }

 private:
  // A connection within the chain of the group.
  struct chain_link {
    peer_id peer = 0;
    std::string address;
  };

  const std::optional<chain_link>& link_to(policies::neighbour to) const {
    return to == policies::neighbour::replica ? follower_ : leader_;
  }
  std::optional<chain_link>& link_to(policies::neighbour to) {
    return to == policies::neighbour::replica ? follower_ : leader_;
  }
  void replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by);
  void followed_by(std::optional<chain_link> follower);
  void lead_nobody(std::uint32_t view);

  void send_plain(peer_id to, const runtime::frame_header& header) override {
    ingress_.frames().send(to, header);
  }
  void lend_sums(peer_id to, const runtime::frame_header& header) override;
  void keep_sum(const effects::replicate& step) override {
    memory_.keep_sum(step.slot, step.clock, step.payload);
  }
  bool map_sums(const runtime::frame_header& header, policies::payload_handle place) override;
  policies::payload_handle sum_in_place(std::uint32_t slot,
                                        std::uint32_t version_buffer) override {
    const auto sum = memory_.sum_in_place(slot, version_buffer);
    if (sum != policies::no_payload)
      ingress_.arrivals().count_in(memory_.ingress().bytes_of(slot));
    return sum;
  }
  std::optional<peer_id> reconnect(policies::neighbour to) override;
  void post_soon() override;
  void go_on() override;  // the home's
  void send_step(peer_id to, const runtime::frame_header& header,
                 const effects::replicate& step) override;
  void send_seed(peer_id to, const runtime::frame_header& header, const effects::seed& chunk,
                 const policies::shard_core::seed_state& state, bool retransmit) override;
  // A copy that is being sent goes when the link has no more need of it.
  void seed_arrived(std::uint32_t slot) override { seeds_.forget(slot); }
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
  policies::shard_core& shard_;
  ingress_shell& ingress_;
  policies::replication_core core_;
  std::map<std::uint64_t, std::uint32_t> workers_;  // of jobs, by token
  std::optional<chain_link> leader_;                // to the process that this one follows
  std::optional<chain_link> follower_;              // to the process that it leads
  std::uint32_t led_view_ = 0;
  completion led_;  // until in_sync()
  seed_copies seeds_;
  std::map<std::uint32_t, runtime::place_wire> sum_names_;  // of tables, as sent
  bool reads_sums_ = false;  // of the process before it in the chain, in place
  bool posting_ = false;
};

}  // namespace tidegate::actors
