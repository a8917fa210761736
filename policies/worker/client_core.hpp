// The side of a worker that faces shards: what its worker core decides becomes frames, and
// their answers go back to it. Tables are attached here, too: each shard that shares memory
// with this worker is told where the gradients lie, and says where the parameters are.
//
// Everything that touches memory or a network is the shell's: an actor, or a simulated process.
// One thread. No function of the shell may call back, but done(), which may begin operations
// and carry them out. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "policies/consistency/norm_exchange.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/core.hpp"
#include "policies/worker/device_windows.hpp"
#include "policies/worker/known_lists.hpp"
#include "policies/worker/mirror_gate.hpp"
#include "policies/worker/state_port.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

// Every function is called from within a call of client_core, in the order in which it decided.
// `shard` is an index into the shards of the welcome.
class client_shell {
 public:
  virtual ~client_shell() = default;

  // Sends a frame without payload.
  virtual void send(std::uint32_t shard, const runtime::frame_header& header) = 0;
  // Sends where the gradients of header.table lie, as the payload; the shell sets its size.
  virtual void send_place(std::uint32_t shard, const runtime::frame_header& header) = 0;
  // Sends the elements of a gradient that `send` names, or the batch of a part of a table of
  // rows, which stay as they are until the push is acknowledged; the shell sets the size. Of
  // frames that wait, those of lower `priority` go first.
  virtual void send_gradient(const worker_effects::send& send,
                             const runtime::frame_header& header, std::uint64_t priority) = 0;
  // Sends the call of the table's function that is under way, or the request of rows of a part,
  // as the payload; the shell sets its size.
  virtual void send_call(const worker_effects::send& call,
                         const runtime::frame_header& header) = 0;
  // Returns the list of ids that this push or call of rows, which is sent next, has with it;
  // nothing where they travel as they are, and where there are none.
  virtual std::optional<sent_list> list_of(const worker_effects::send& /*send*/) {
    return std::nullopt;
  }
  // Maps the parameters of a table's part on a shard. `place`: the payload of an attach_ack.
  // Returns false if they cannot be read here; then frames are used.
  virtual bool map_parameters(std::uint32_t table, const table_part& part,
                              std::span<const std::byte> place) = 0;
  // Returns true if this worker's gradients of the table lie on a device.
  virtual bool is_on_device(std::uint32_t /*table*/) const { return false; }
  // Sends where they lie there, as the payload; the shell sets its size.
  virtual void send_device_places(std::uint32_t /*shard*/,
                                  const runtime::frame_header& /*header*/) {}
  // Opens version buffers of a table's part on a device. `places`: the payload of a
  // device_attach_ack. Returns false if they cannot be read there, ever.
  virtual bool map_on_device(std::uint32_t /*table*/, const table_part& /*part*/,
                             std::span<const std::byte> /*places*/) {
    return false;
  }
  // Returns the version buffers of a table's part, bit b standing for b, that can be read on a
  // device; none of a table whose pull under way, or the next one, is for the host.
  virtual std::uint64_t device_buffers(std::uint32_t /*table*/, std::uint32_t /*shard*/) const {
    return 0;
  }
  // Returns true if that pull is for the device.
  virtual bool pulls_on_device(std::uint32_t /*table*/) const { return false; }
  // Tells that the table can be used. Once for each client_core::open().
  virtual void opened(std::uint32_t table) = 0;
  // Tells that an operation has ended: its memory is the user's again.
  virtual void done(operation op, reply_code code) = 0;
  // Stops every use of the memory of operations, before it returns. Called once, when a push or
  // a farewell was refused, before done() of the operations that this ends.
  virtual void let_go() = 0;
  // Connects to this shard anew; frames go over the new connection from now on, and what waits
  // to be sent over the one before is dropped. Returns false if no connection could be begun.
  virtual bool reconnect(std::uint32_t shard) = 0;
  // Drops the gradients and calls that wait to be sent to this shard. They are sent anew.
  virtual void drop_waiting(std::uint32_t shard) = 0;
  // Tells how many bytes of this worker's payloads a shard has copied, as it acknowledges the
  // farewell.
  virtual void copied(std::uint64_t bytes) = 0;
};

class client_core {
 public:
  // `shell` and `state` must outlive this. The worker's state has resumed.
  client_core(client_shell& shell, state_port& state, const worker_welcome& welcome,
              std::uint32_t rank, std::uint32_t incarnation);

  // Opens a table, whose chunks `places` covers. `shares`: returns true if this shard shares
  // memory with us; not kept. A table of rows is attached nowhere: its shards say with each
  // answer where rows lie. client_shell::opened() follows, perhaps from within.
  void open(std::uint32_t table, std::vector<chunk_place> places,
            const std::function<bool(std::uint32_t shard)>& shares, bool has_rows = false);
  // Goes on with another process of this shard, for frames of this epoch, to which the shell
  // has connected; the caller calls carry_out() afterwards. Returns false, and does nothing, if
  // the epoch is not later than epoch_of(shard).
  bool shard_moved(std::uint32_t shard, std::uint64_t epoch,
                   const std::function<bool(std::uint32_t shard)>& shares);
  std::uint64_t epoch_of(std::uint32_t shard) const { return epochs_.at(shard); }
  // Returns true if nothing of what is open is sent in frames.
  bool attached_everywhere() const noexcept { return frames_with_.empty(); }

  // Returns true if every shard reads the gradient of this table, or of all tables, on a
  // device, so that a push needs nothing of the host's memory.
  bool reads_on_device(std::uint32_t table) const;

  // Begins an operation: start(worker, effects) makes one call of the worker core, whose result
  // this returns. What it decides is carried out by carry_out(), which has to come before the
  // next call that decides anything.
  template <class Start>
  runtime::errc begin(const Start& start) {
    effects_.clear();
    return start(worker_, effects_);
  }
  // Carries out what the last call has decided: client_shell::let_go() if it failed, then the
  // commit, then the sends, unless they wait for a copy of the state, then the dones.
  void carry_out();

  // The launcher has what was asked for, up to this request. Sends what has waited for it.
  void mirrored(std::uint64_t number);

  // Sends again what has not been answered in time; see worker_core::tick(). The caller calls
  // carry_out() afterwards. Not to be called while frames wait to be sent: what has not left
  // cannot be lost, and would wait twice.
  void tick(std::int64_t now);
  void set_retransmit_limits(const retransmit_limits& limits) {
    retransmit_limits_ = limits;
    worker_.set_retransmit_limits(limits);
  }
  // Returns true if anything waits for an answer of a shard.
  bool is_busy() const;

  // Asks this shard to answer over its own connection. To be called when a connection to it,
  // the first or after it has moved, has been begun. `now` here and below: as of tick().
  void connected(std::uint32_t shard, std::int64_t now);
  // Lets mend() make another connection to this shard in place of one that broke while its
  // process is not known to have ended.
  void connection_broke(std::uint32_t shard, std::int64_t now);
  // Makes the attempts to connect that are due. To be called every few milliseconds while
  // is_mending().
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void set_reconnect_limits(const reconnect_limits& limits) { reconnects_.set_limits(limits); }
  // Returns the shards that have been out of reach for `longer_than` nanoseconds.
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }

  // Returns true if the payload of an arriving frame may have a place; otherwise it is to be
  // read away. For a pull_reply or call_reply the caller calls begin_reply() before it gives
  // the place away, and then exactly one of frame() and reply_lost().
  bool expects(const runtime::frame_header& header) const;
  void begin_reply(const runtime::frame_header& header) {
    worker_.begin_reply(header.table, header.chunk);
  }
  // Asks again for a reply that begin_reply() gave a place and that will not come. The caller
  // calls carry_out() afterwards.
  void reply_lost(const runtime::frame_header& header);
  // Takes in a frame; the caller calls carry_out() afterwards. `bytes`: the payload of an
  // attach_ack, read before this returns.
  void frame(const runtime::frame_header& header, std::span<const std::byte> bytes);

  const worker_core& worker() const noexcept { return worker_; }

 private:
  struct table_state {
    std::uint64_t opened_as = 0;  // the first of all tables: 0
    bool open = false;
    bool has_rows = false;
    std::set<std::uint32_t> attaching;  // shards that have not answered
    retransmit_timer attach_retransmit;
  };
  bool is_mine(const runtime::frame_header& header) const;
  bool expects_reply(const runtime::frame_header& header) const;
  void on_attached(const runtime::frame_header& header, std::span<const std::byte> place);
  void on_doorbell(const runtime::frame_header& header);
  void ask_device(std::uint32_t table, std::uint32_t shard);
  void send_device_attach(std::uint32_t table, std::uint32_t shard);
  void on_device_attached(const runtime::frame_header& header,
                          std::span<const std::byte> places);
  void ask_for_buffer(const runtime::frame_header& reply);
  bool knows_on_device(const runtime::frame_header& reply) const;
  bool is_read_on_device(std::uint32_t table, std::uint32_t shard) const;
  std::uint64_t device_buffers(std::uint32_t table, std::uint32_t shard) const;
  bool has_all_tables() const;
  std::uint32_t shards() const { return static_cast<std::uint32_t>(epochs_.size()); }
  void send(const norm_exchange::messages& messages);
  void on_resend(const runtime::frame_header& header);
  void send_resend(runtime::frame_kind kind, std::uint32_t shard, std::uint64_t attempt);
  void resend(std::uint32_t shard);
  void opened(std::uint32_t table, table_state& state);
  runtime::frame_header header_for(runtime::frame_kind kind, std::uint32_t table,
                                   std::uint32_t shard) const;
  void begin_attach(std::uint32_t table, table_state& state, std::uint32_t shard);
  bool end_attach(table_state& state, std::uint32_t shard);
  void end_move(std::uint32_t shard);
  void send(worker_effects::send send);

  client_shell& shell_;
  state_port& state_;
  std::uint64_t token_;
  std::vector<std::uint64_t> epochs_;  // by shard
  std::uint32_t workers_;
  std::uint32_t rank_;
  std::uint32_t incarnation_;
  bool shards_move_;
  std::uint32_t tables_of_job_;  // 0: not known
  worker_core worker_;
  worker_effects effects_;
  std::vector<worker_effects::done> dones_;  // that are being told
  std::map<std::uint32_t, table_state> tables_;
  std::vector<std::size_t> attaching_;   // tables that wait for it, by shard
  std::set<std::uint32_t> frames_with_;  // shards
  std::set<std::uint32_t> moving_;       // shards that nothing is sent to until they are mapped
  device_windows devices_;
  known_lists lists_;
  mirror_gate mirror_;
  norm_exchange norms_;
  retransmit_limits retransmit_limits_;
  reconnect_schedule<std::uint32_t> reconnects_;  // by shard
  bool failed_ = false;
};

}  // namespace tidegate::policies
