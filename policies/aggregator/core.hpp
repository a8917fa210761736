// What an aggregator decides: which sums to send upstream, what their answers mean for its
// members.
//
// It has two halves. The ingress faces the members and is a shard core that relays
// (shard/core.hpp): it judges whatever a member may send, late, twice or out of order. This
// class faces upstream: it has at most one pull per chunk, and what upstream has not
// acknowledged, sums (upstream_sums.hpp) and a farewell (node_farewell.hpp).
//
// Upstream (shards, or one higher aggregator) knows the members by nodes: aligned groups of
// ranks whose sum is a node of the canonical tree (runtime/kernels/update.hpp), each under its
// lowest rank. A group that is not aligned has several; all push, the first one pulls.
//
// One thread. The shell posts the frames that a call appends, in their order and before the
// next call. `now` is in nanoseconds of any clock that does not go back. Once warm, nothing
// allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policies/aggregator/node_farewell.hpp"
#include "policies/aggregator/upstream_sums.hpp"
#include "policies/consistency/norm_exchange.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/core.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

// A frame to post upstream: of a chunk, or of the whole job (finished, resend, resent, norm,
// norm_part). The sum of a push must stay readable until upstream has answered it
// (shard_effects::hand_on).
struct upstream_frame {
  enum class type : std::uint8_t {
    push,
    skip,
    pull,
    finished,
    resend,
    resent,
    norm,
    norm_part
  };
  type kind = type::push;
  std::uint32_t shard = 0;
  std::uint32_t node = 0;  // index into nodes(); its first rank is in tag
  frame_tag tag;
  bool pulls = false;       // push, skip: also of the clock after
  bool is_final = false;    // pull
  std::uint32_t first = 0;  // push that is new: inputs of hand_on() to sum
  std::uint32_t count = 0;
  // push, skip: sent before. The payload of a push is then the sum that was sent, or `single`
  // if that was the only input.
  bool retransmit = false;
  double squares = 0.0;    // norm
  std::uint32_t slot = 0;  // retransmit
  payload_handle single = no_payload;
};

// Returns the frame's header, without payload_bytes.
runtime::frame_header header_of(const upstream_frame& frame);

class aggregator_core {
 public:
  struct job {
    std::uint64_t token = 0;
    std::uint64_t epoch = 0;
    std::uint32_t workers = 0;  // of the whole job
    consistency_spec consistency;
    std::vector<std::uint32_t> members;  // ranks, or first ranks of lower nodes; ascending
    std::vector<rank_node> nodes;        // ascending, they cover the members
    std::vector<std::uint64_t> upstream_epochs;  // of frames there, by shard
    bool workers_come_back = false;              // see sharding::job_options
    std::uint32_t incarnation = 1;               // under which it pushes there
    bool upstream_moves = false;                 // another process may take its place
  };
  // Opens the only job. Opening it again changes nothing.
  void open_job(job opened);
  // Opens a table. `places`: all its chunks, in order, with the shards that hold them. Returns
  // them with their slots in the ingress; opening it again returns what it has.
  std::vector<owned_chunk> open_table(std::uint32_t table, std::span<const chunk_place> places);

  // Begins these chunks, which have just been opened, at these clocks: members' first pushes
  // are of them. `clocks`: one for each chunk, or none for 0.
  void begin_at(std::span<const owned_chunk> chunks, std::span<const std::uint64_t> clocks);
  // Forgets a table that was opened and cannot be kept.
  void forget_table(std::uint32_t table);

  shard_core& ingress() noexcept { return ingress_; }
  const shard_core& ingress() const noexcept { return ingress_; }
  bool is_open() const noexcept { return !job_.nodes.empty(); }
  bool upstream_moves() const noexcept { return job_.upstream_moves; }
  // Returns true if upstream_moved() would not be known yet.
  bool is_news(std::uint32_t shard, std::uint64_t epoch) const {
    return is_open() && shard < job_.upstream_epochs.size() &&
           epoch > job_.upstream_epochs[shard];
  }
  const std::vector<rank_node>& nodes() const noexcept { return job_.nodes; }

  // Carry out the ingress's effects of that name (effects.hpp). `inputs`: the effect's,
  // ascending in rank. A pull that is due goes along with the push or skip of the first node.
  void hand_on(const shard_effects::hand_on& handover,
               std::span<const shard_effects::input> inputs, std::vector<upstream_frame>& out);
  void ask(const shard_effects::ask& ask, std::vector<upstream_frame>& out);
  // Says the group's farewell, once, when all members have finished and no push is held. To be
  // called after a member's farewell, and after an answer of upstream.
  void say_farewell(std::vector<upstream_frame>& out);

  // Sends another process of this shard, for frames of this epoch, what the shard has not
  // answered. Returns false, and does nothing, if that is known.
  bool upstream_moved(std::uint32_t shard, std::uint64_t epoch,
                      std::vector<upstream_frame>& out);
  // Asks this shard to answer over its own connection. To be called when a connection to it,
  // the first or after it has moved, has been begun.
  void connected(std::uint32_t shard, std::int64_t now, std::vector<upstream_frame>& out) {
    out.push_back(
        resend_frame(upstream_frame::type::resend, shard, reconnects_.begun(shard, now)));
  }
  // Lets mend() make another connection to this shard in place of one that broke while its
  // process is not known to have ended.
  void connection_broke(std::uint32_t shard, std::int64_t now) {
    reconnects_.broke(shard, now);
  }
  // Makes the attempts to connect that are due, to be called every few milliseconds while
  // is_mending(). `reconnect(shard)` connects to it anew and returns false if no connection
  // could be begun.
  template <class Reconnect>
  void mend(std::int64_t now, const Reconnect& reconnect, std::vector<upstream_frame>& out) {
    reconnects_.attempt_due(now, [&](std::uint32_t shard, std::uint64_t attempt) {
      if (!reconnect(shard)) return false;
      out.push_back(resend_frame(upstream_frame::type::resend, shard, attempt));
      return true;
    });
  }
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void set_reconnect_limits(const reconnect_limits& limits) { reconnects_.set_limits(limits); }
  // Returns the shards, or the aggregator above, that have been out of reach for `longer_than`
  // nanoseconds.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }
  // Returns true for a `resend` or `resent` of upstream; those of members are the ingress's.
  static bool is_resend(const runtime::frame_header& header);
  // Takes in what a shard tells of the norm of a clock (norm_exchange::is_of_norm), and
  // answers.
  void on_norm(const runtime::frame_header& header, std::vector<upstream_frame>& out);
  // Answers it, and sends again what upstream has lost. Returns true if that is all that has no
  // answer, with sums that may wait to be sent as it is.
  bool on_resend(const runtime::frame_header& header, std::vector<upstream_frame>& out);

  // Sends again what upstream has not answered for too long. `now`: see worker_core::tick.
  void tick(std::int64_t now, std::vector<upstream_frame>& out);
  void set_retransmit_limits(const retransmit_limits& limits) { retransmit_limits_ = limits; }
  bool is_busy() const;

  // Returns true for the answers that on_answer() takes: push_ack and pull_reply.
  static bool is_answer(const runtime::frame_header& header);
  // Returns true for a reply of a process that has been replaced: to be given to
  // cancel_reply().
  bool is_stale(const runtime::frame_header& header) const;
  // Takes in an answer of upstream, and appends to `out`, which is of the answer's table, what
  // it means for members. What belongs to nothing under way is dropped. The two calls after it
  // are its parts.
  void on_answer(const runtime::frame_header& header, shard_effects& out);
  void on_farewell_ack(std::uint32_t shard, std::uint32_t node_rank);
  void on_ack(const frame_tag& tag, reply_code code, shard_effects& out);
  // Returns the slot of the pull under way that this reply answers, if its payload has no place
  // yet.
  std::optional<std::uint32_t> expects_reply(const frame_tag& tag) const;
  // Returns the version buffer that the reply is received into. Then exactly one of
  // cancel_reply() and on_answer() follows.
  std::uint32_t begin_reply(std::uint32_t slot);
  // Asks again for a reply that begin_reply() gave a place and whose payload will not come.
  void cancel_reply(const frame_tag& tag, std::vector<upstream_frame>& out);
  struct parameters {
    std::uint64_t version = 0;
    std::uint64_t min_clock = 0;
    bool applied = false;  // the reply also acknowledges the push of the clock before
  };
  // Takes in a pull's reply: parameters that begin_reply() gave a place, or a refusal.
  void on_reply(const frame_tag& tag, reply_code code, const parameters& pulled,
                shard_effects& out);

 private:
  enum class reply : std::uint8_t { none, awaited, arriving };
  struct chunk_state {
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint32_t shard = 0;
    reply pull = reply::none;
    std::uint64_t request = 0;  // of the last pull
    retransmit_timer pull_retransmit;
  };

  std::optional<std::uint32_t> find(const frame_tag& tag) const;
  void ack(const frame_tag& tag, reply_code code, bool answer_follows, shard_effects& out);
  frame_tag tag_of(const chunk_state& chunk, std::size_t node, std::uint64_t clock) const;
  upstream_frame pull_frame(std::uint32_t slot) const;
  upstream_frame farewell_frame(std::uint32_t shard, std::size_t node) const;
  void retransmit_sum(std::uint32_t slot, std::uint64_t clock,
                      std::vector<upstream_frame>& out);
  void retransmit_pull(std::uint32_t slot, std::vector<upstream_frame>& out);
  upstream_frame resend_frame(upstream_frame::type kind, std::uint32_t shard,
                              std::uint64_t attempt) const;
  void resend(std::uint32_t shard, std::vector<upstream_frame>& out);
  std::optional<std::uint32_t> find_any(const frame_tag& tag) const;

  job job_;
  shard_core ingress_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> slots_;  // by table, by chunk
  std::vector<chunk_state> chunks_;                            // by slot
  upstream_sums sums_;
  node_farewell farewell_;
  norm_exchange norms_;
  retransmit_limits retransmit_limits_;
  reconnect_schedule<std::uint32_t> reconnects_;  // by shard
};

}  // namespace tidegate::policies
