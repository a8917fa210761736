// Faces the primary: takes in the steps and chunks that it hands on, and tells it what has been
// made here and by all behind. It answers a process that was the primary before, too, which may
// not know that it has been replaced.
//
// One thread. Once warm, steps allocate nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/chunk_follower.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/replication_shell.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies::sharding {

struct chain_state;

// A worker's farewell within a chain, of one stay: a rank may join again.
struct farewell_name {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  std::uint64_t since = 0;  // its first clock
  friend auto operator<=>(const farewell_name&, const farewell_name&) = default;
};

class step_receiver {
 public:
  using peer_id = ingress_shell::peer_id;

  explicit step_receiver(chain_state& state) : state_(state) {}

  // replication_core::follow_is_over(), follow(), follows(), follows_in(), promote().
  bool is_over(std::uint32_t view) const noexcept { return view < view_; }
  void follow(std::uint32_t view, peer_id primary);
  bool follows() const noexcept { return follows_; }
  bool follows_in(std::uint64_t view) const noexcept { return follows_ && view == view_; }
  bool promote(std::uint32_t view, std::uint64_t epoch);
  std::uint32_t view() const noexcept { return view_; }
  const std::optional<peer_id>& peer() const noexcept { return primary_; }
  void set_peer(peer_id primary) { primary_ = primary; }

  // Carries out the effect of that name: keeps it for post(), if this process is a replica.
  void followed(const shard_effects::followed& followed);
  // Sends the primary what the turn has added.
  void post();
  // Asks again for what was refused for want of a table, as a table has been opened: a
  // coordinator that has died may have told the primary of it before it told us.
  void table_opened();

  // replication_core::place(), frame_lost(), of frames of the primary.
  bool place(const runtime::frame_header& header);
  void frame_lost(const runtime::frame_header& header);
  // Takes in a frame of the primary: a step, several of them, a chunk, a farewell, or the place
  // of its sums.
  void frame(const runtime::frame_header& header, payload_handle payload);

  // Answers the primary's farewell of this name, if it waits, as the replica has it now.
  void farewell_arrived(const farewell_name& name);
  // Answers all farewells that wait, as there is no replica any more.
  void answer_owed();

 private:
  static followed_step step_of(const runtime::frame_header& header);
  void on_step(const runtime::frame_header& header, payload_handle payload);
  void on_seed(const runtime::frame_header& header, payload_handle payload);
  void on_steps(const runtime::frame_header& header);
  void on_farewell(const runtime::frame_header& header);
  void on_lend(const runtime::frame_header& header, payload_handle place);
  void answer(const runtime::frame_header& header, reply_code code);
  void answer_farewell(const farewell_name& name);

  chain_state& state_;
  std::uint32_t view_ = 0;          // with the primary, or since when this is it
  std::optional<peer_id> primary_;  // of this view, or of an earlier one
  std::uint32_t followed_since_ = 0;
  bool follows_ = false;
  bool lacks_table_ = false;      // something of the primary was refused for want of a table
  std::set<farewell_name> owed_;  // to the primary, when the replica has them
  std::vector<shard_effects::followed> followed_;  // to be posted
};

}  // namespace tidegate::policies::sharding
