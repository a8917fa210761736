// Faces the replica: hands it each step, one of a chunk at a time, and where it begins with
// nothing each chunk as it is; sends again what is not answered.
//
// One thread. Once warm, nothing allocates but what hands chunks over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/replication_shell.hpp"
#include "policies/shard/step_receiver.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies::sharding {

struct chain_state;

class step_feeder {
 public:
  using effects = shard_effects;
  using peer_id = ingress_shell::peer_id;

  explicit step_feeder(chain_state& state) : state_(state) {}

  // replication_core::lead_is_over(), lead(), leads_in(), all_there(), waits(), lead_nobody(),
  // job_opened(), leads(), is_busy().
  bool is_over(std::uint32_t view) const noexcept { return view < view_; }
  void lead(std::uint32_t view, peer_id replica, bool has_all, bool shares);
  bool leads_in(std::uint64_t view) const noexcept { return replica_ && view == view_; }
  bool all_there() const noexcept { return synced_; }
  bool waits() const noexcept { return !under_way_.empty(); }
  bool steps_wait() const noexcept { return under_way_.size() > seeding_; }
  void lead_nobody(std::uint32_t view);
  void job_opened(std::uint64_t token);
  bool leads() const noexcept { return replica_.has_value(); }
  bool is_busy() const noexcept {
    return !under_way_.empty() || !farewells_.empty() || !lending_.empty();
  }
  std::uint32_t view() const noexcept { return view_; }
  const std::optional<peer_id>& peer() const noexcept { return replica_; }
  void set_peer(peer_id replica) { replica_ = replica; }

  // Carry out effects of the shard core: send now, or where the replica reads sums in place
  // keep the sum and send with post().
  void replicate(const effects::replicate& replicate);
  void seed(const effects::seed& seed);
  void replicate_farewell(const effects::replicate_farewell& farewell);
  // Lets the replica read the sums of a table where they are kept, if it can.
  void lend(std::uint64_t job, std::uint32_t table);
  void send_farewell(const farewell_name& name);
  // Sends the steps that the turn has added.
  void post();

  // Take in the replica's answer to a step, a chunk or a farewell, and to an offer of sums.
  void on_followed(const runtime::frame_header& header);
  void on_lent(const runtime::frame_header& header);
  // Send again what has not been answered: all of it, or what is due.
  void resend_all();
  void tick(std::int64_t now);
  void set_retransmit_limits(const retransmit_limits& limits) { retransmit_limits_ = limits; }

 private:
  struct transfer {
    bool is_seed = false;
    effects::replicate step;
    effects::seed chunk;
    bool in_place = false;
    retransmit_timer retransmit;
  };
  struct lending {
    std::uint64_t job = 0;
    retransmit_timer retransmit;
  };

  void forget_all();
  void seed_more();
  void tell_in_sync();
  void send(const transfer& sent, bool retransmit);
  void send_lend(std::uint64_t job, std::uint32_t table);
  void post_steps(const effects::replicate& first, std::uint32_t count);
  void on_followed_run(const runtime::frame_header& header);

  chain_state& state_;
  std::uint32_t view_ = 0;  // with the replica, or since there has been no replica
  std::optional<peer_id> replica_;
  bool shares_ = false;
  bool synced_ = true;                           // in_sync() has been told
  std::map<std::uint32_t, transfer> under_way_;  // by slot
  std::map<farewell_name, retransmit_timer> farewells_;
  std::map<std::uint32_t, lending> lending_;  // tables, not answered yet
  std::set<std::uint32_t> lent_;              // tables
  std::vector<effects::replicate> steps_;     // to be posted
  std::vector<std::uint32_t> slots_;          // of the run being answered
  std::size_t seeding_ = 0;
  retransmit_limits retransmit_limits_;
};

}  // namespace tidegate::policies::sharding
