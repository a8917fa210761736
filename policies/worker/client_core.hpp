// The side of a worker that faces shards: what its worker core decides becomes frames, and
// their answers go back to it. Tables are attached here, too: each shard that shares memory
// with this worker is told where the gradients lie, and says where the parameters are.
//
// Everything that touches memory or a network is the shell's: an actor, or a simulated process.
// One thread. No function of the shell may call back. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/core.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

class client_shell {
 public:
  virtual ~client_shell() = default;

  // Frames to a shard, by its index in the welcome. The second tells where the gradients of
  // header.table are. The third sends elements of a push's gradient; lower priorities overtake.
  virtual void send(std::uint32_t shard, const runtime::frame_header& header) = 0;
  virtual void send_place(std::uint32_t shard, const runtime::frame_header& header) = 0;
  virtual void send_gradient(const worker_effects::send& send,
                             const runtime::frame_header& header, std::uint64_t priority) = 0;
  // Maps the parameters of a table's part, whose place is in the payload of an attach_ack.
  // False: frames are used.
  virtual bool map_parameters(std::uint32_t table, const table_part& part,
                              std::span<const std::byte> place) = 0;
  // The table can be used.
  virtual void opened(std::uint32_t table) = 0;
  // An operation has ended. Before the first one that fails let_go() is called: memory of
  // operations is the user's again, and nothing may read or write it any more.
  virtual void done(operation op, reply_code code) = 0;
  virtual void let_go() = 0;
  // Connects to this shard anew; frames go over the new connection from now on. Returns false
  // if no connection could be begun.
  virtual bool reconnect(std::uint32_t shard) = 0;
  // Payload that shards copied for this worker.
  virtual void copied(std::uint64_t bytes) = 0;
};

class client_core {
 public:
  client_core(client_shell& shell, const worker_welcome& welcome, std::uint32_t rank,
              std::uint32_t incarnation);

  // `shares`: whether this shard shares memory with us. opened() follows.
  void open(std::uint32_t table, std::vector<chunk_place> places,
            const std::function<bool(std::uint32_t shard)>& shares);
  // Another process serves this shard, for frames of this epoch; the shell has connected to it.
  // Operations go on there: carry_out() follows. Told again, or of an earlier epoch, it counts
  // for nothing, and is false.
  bool shard_moved(std::uint32_t shard, std::uint64_t epoch,
                   const std::function<bool(std::uint32_t shard)>& shares);
  std::uint64_t epoch_of(std::uint32_t shard) const { return epochs_.at(shard); }
  // Nothing of what is open is sent in frames.
  bool attached_everywhere() const noexcept { return frames_with_.empty(); }

  // Begins operations: start(worker, effects) calls the worker core, once; what it decides is
  // carried out by carry_out(), when the shell is ready for it.
  template <class Start>
  runtime::errc begin(const Start& start) {
    effects_.clear();
    return start(worker_, effects_);
  }
  void carry_out();

  // Sends again what has not been answered; see worker_core::tick. carry_out() follows. Not
  // while frames wait to be sent: what has not left cannot be lost, and would wait twice.
  void tick(std::int64_t now);
  void set_retransmit_limits(const retransmit_limits& limits) {
    retransmit_limits_ = limits;
    worker_.set_retransmit_limits(limits);
  }
  bool is_busy() const;

  // A connection to this shard, the first or after it has moved, has been begun: the shard is
  // asked to answer over its own.
  void connected(std::uint32_t shard, std::int64_t now);
  // The connection to this shard broke, and its process is not known to have ended: mend()
  // makes another.
  void connection_broke(std::uint32_t shard, std::int64_t now);
  // Makes the attempts that are due. To be called every few milliseconds while is_mending().
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void set_reconnect_limits(const reconnect_limits& limits) { reconnects_.set_limits(limits); }
  // Shards that have been out of reach for so long.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }

  // A frame with payload is arriving: may it have a place? begin_reply() when it gets one.
  bool expects(const runtime::frame_header& header) const;
  void begin_reply(const runtime::frame_header& header) {
    worker_.begin_reply(header.table, header.chunk);
  }
  // What begin_reply() gave a place will not come: it is asked for again. carry_out() follows.
  void reply_lost(const runtime::frame_header& header);
  // A frame is here; the worker core is ahead of what is carried out until carry_out().
  // `bytes`: of an attach_ack.
  void frame(const runtime::frame_header& header, std::span<const std::byte> bytes);

  const worker_core& worker() const noexcept { return worker_; }

 private:
  struct table_state {
    std::uint64_t opened_as = 0;  // the first of all tables: 0
    bool open = false;
    std::set<std::uint32_t> attaching;  // shards that have not answered
    retransmit_timer attach_retransmit;
  };
  bool is_mine(const runtime::frame_header& header) const;
  void on_attached(const runtime::frame_header& header, std::span<const std::byte> place);
  void on_doorbell(const runtime::frame_header& header);
  void on_resend(const runtime::frame_header& header);
  void send_resend(runtime::frame_kind kind, std::uint32_t shard, std::uint64_t attempt);
  void resend(std::uint32_t shard);
  void opened(std::uint32_t table, table_state& state);
  runtime::frame_header header_for(runtime::frame_kind kind, std::uint32_t table,
                                   std::uint32_t shard) const;
  void begin_attach(std::uint32_t table, table_state& state, std::uint32_t shard);
  bool end_attach(table_state& state, std::uint32_t shard);
  void end_move(std::uint32_t shard);
  void send(const worker_effects::send& send);

  client_shell& shell_;
  std::uint64_t token_;
  std::vector<std::uint64_t> epochs_;  // by shard
  std::uint32_t workers_;
  std::uint32_t rank_;
  std::uint32_t incarnation_;
  bool shards_move_;
  worker_core worker_;
  worker_effects effects_;
  std::map<std::uint32_t, table_state> tables_;
  std::vector<std::size_t> attaching_;   // tables that wait for it, by shard
  std::set<std::uint32_t> frames_with_;  // shards
  std::set<std::uint32_t> moving_;       // shards that nothing is sent to until they are mapped
  retransmit_limits retransmit_limits_;
  reconnect_schedule<std::uint32_t> reconnects_;  // by shard
  bool failed_ = false;
};

}  // namespace tidegate::policies
