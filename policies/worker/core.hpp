// What the client side of a job decides: which frames to send, when an operation is done, when
// a worker must wait for its credits.
//
// Order within one clock and table: any pulls, one after another; then at most one push; then
// clock(). exchange() is a push, clock() and a pull at the new clock in one, and ends with the
// pull: its pushes may be acknowledged later, as those of push() and clock(). Pushes of at most
// limits::clocks_in_flight_max clocks are unacknowledged at a time: room() ends when one of
// this clock is within that, and push(), clock() and exchange() are out of order before. Pulls
// are not: a worker reads what it is given while a replica makes the step of the clock before.
// Where one clock is in flight, the later one's pushes wait here until the earlier one's are
// acknowledged, and a pull needs room, too. Operations are named by the
// shell with non-zero numbers; each ends with exactly one `done`. A push or farewell that is
// refused ends them all at once: an answer that comes later is expected no more, but one that
// has begun may still be arriving, and what was to be sent may be on its way. The shell sees to
// it that neither touches memory of an operation that has ended.
//
// Frames may be lost. What is not answered in time is sent again, at growing intervals, for as
// long as it takes: tick(). Shards tell what they have seen before.
//
// A worker may keep state (kept_state.hpp). Each clock then commits it, before the last push or
// skip of the clock leaves: a process that takes the place of this one resumes at a clock for
// which every chunk lacks nothing of the clocks before, so that it finds the state of that
// clock committed. What waits for that is held back until clock(), exchange() or release()
// (commit_gate.hpp).
//
// A table's part on a shard that shares memory with this worker (attached) is pushed and pulled
// by one doorbell for each run of chunks with one fate, which mostly is the whole part; the
// others chunk by chunk. One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/model/staleness_counts.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/commit_gate.hpp"
#include "policies/worker/credit_window.hpp"
#include "policies/worker/effects.hpp"
#include "policies/worker/farewell.hpp"
#include "policies/worker/table_book.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

class worker_core {
 public:
  // `shards`: how many; their indexes are below. `first_clock`: where a worker that comes back
  // goes on, else 0. `certain_from`: the first clock of which no chunk has a push that another
  // process has made.
  explicit worker_core(std::uint32_t shards, std::uint64_t first_clock = 0,
                       std::uint64_t certain_from = 0)
      : tables_(shards), clock_(first_clock), commits_(certain_from), farewell_(shards) {}

  // Adds a table before its first use; `places` covers the whole table. Adding it again changes
  // nothing.
  void add_table(std::uint32_t table, std::vector<chunk_place> places);
  // Pushes and pulls this table in place on that shard from now on. To be called before its
  // first use there, or after shard_moved() and before retransmit().
  void attach(std::uint32_t table, std::uint32_t shard);
  // Detaches every table from this shard, as another process has taken its place. retransmit()
  // follows when that one can be reached.
  void shard_moved(std::uint32_t shard);
  // Sends the new process of this shard all that it has not answered, the farewell once more.
  void retransmit(std::uint32_t shard, worker_effects& out);
  // Sends what this shard has not answered, over a connection that took the place of a broken
  // one.
  void resend(std::uint32_t shard, worker_effects& out);
  // What has no answer: of the pull of a table that is under way, all of a shard, or the call
  // for a chunk; or the push of a chunk at a clock.
  struct unanswered {
    std::uint32_t table = 0;
    std::uint32_t shard = 0;
    std::optional<std::uint32_t> chunk = {};
    std::optional<std::uint64_t> clock = {};
  };
  // Sends it again, if it is not answered.
  void resend_unanswered(const unanswered& of, worker_effects& out);
  // Sends pushes of a clock only when all of the clocks before it are acknowledged.
  void set_one_clock_in_flight() { credits_.set_one_clock_in_flight(); }

  // Each of the following either starts `op` and returns ok, or returns why not and leaves
  // everything as it was. Errors: out_of_order (see above), not_found (no such table),
  // cancelled (failure() says why nothing works any more).
  //
  // Pushes the gradient that lies in this half of the double buffer (double_buffer.hpp); done
  // when all shards have acknowledged it. `rate` multiplies the learning rate of its step; it
  // is finite and at least 0. With `chunks`, which ascend, it skips all others.
  using chunk_list = std::span<const std::uint32_t>;
  runtime::errc push(std::uint32_t table, operation op, worker_effects& out,
                     std::uint32_t half = 0, float rate = 1.0F,
                     std::optional<chunk_list> chunks = std::nullopt);
  // When a pull is answered. as_policy: as soon as the job's policy allows; final_barrier: when
  // all other workers have finished or come to this clock; to_the_end: when all workers have
  // finished, which is allowed after finish() only.
  enum class extent : std::uint8_t { as_policy, final_barrier, to_the_end };
  // What a pull asks for: parameters, or the results of a function of them, which a worker
  // calls. A pull of results ahead of their use is one that nobody waits for: its table is
  // pushed and its clock ends meanwhile, the next pull begins when it is over, and it ends well
  // though shards refuse it.
  enum class answer_kind : std::uint8_t { parameters, results, results_ahead };
  // Pulls a table, or these chunks of it; done when all of them are here. tables() then says
  // where they lie; where the last pull found parameters stays as it is when results are asked
  // for.
  runtime::errc pull(std::uint32_t table, operation op, extent wanted, worker_effects& out,
                     std::optional<chunk_list> chunks = std::nullopt,
                     answer_kind asked = answer_kind::parameters);
  // Ends the clock, with a skip of every table that was not pushed in it; done at once.
  runtime::errc clock(operation op, worker_effects& out);
  // Holds pushes back from now on, and commits each clock; done at once. To be called
  // when the worker begins to keep state. Out of order if a push that may be the last of this
  // clock has left: a process in this worker's place may resume without state then.
  runtime::errc keep_state(operation op, worker_effects& out);
  // Lets what is held back leave, as somebody waits for a push of this clock; done at once. If
  // every table has its push that commits: what the worker keeps cannot change any more in this
  // clock then.
  runtime::errc release(operation op, worker_effects& out);
  // Waits; done when a push of this clock is within the credit window. One at a time.
  runtime::errc room(operation op, worker_effects& out);
  // Returns true if a push of this clock is within the credit window and nothing has failed.
  bool has_room() const;
  // Pushes these tables, ends the clock, pulls them at the new one; done when they are pulled.
  runtime::errc exchange(std::span<const std::uint32_t> tables, operation op,
                         worker_effects& out, std::uint32_t half = 0, float rate = 1.0F);
  // Says farewell to all shards once every push is acknowledged; done when they have
  // acknowledged it.
  runtime::errc finish(operation op, worker_effects& out);

  // Takes in the acknowledgement of a chunk's push, or its refusal, which ends everything. A
  // second one changes nothing.
  void on_ack(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock, reply_code code,
              worker_effects& out);
  // Takes in a shard's acknowledgement of the farewell. Returns false if it was known.
  bool on_finish_ack(std::uint32_t shard, reply_code code, worker_effects& out);
  // Returns true if this reply belongs to the pull under way, so that its payload may have a
  // place. The caller calls begin_reply() before it gives the place away: a second copy of the
  // reply is then not expected.
  bool expects_reply(std::uint32_t table, std::uint32_t chunk, std::uint64_t request) const;
  void begin_reply(std::uint32_t table, std::uint32_t chunk);
  // Takes begin_reply() back: the payload will not come. Returns false if none was arriving.
  bool cancel_reply(std::uint32_t table, std::uint32_t chunk, std::uint64_t request);
  struct reply {
    std::uint64_t request = 0;
    reply_code code = reply_code::ok;
    std::uint64_t min_clock = 0;
    std::uint32_t version_buffer = 0;  // of a doorbell's reply
    bool on_device = false;            // likewise: there, and not on the host
  };
  // Takes in a reply: one that is ok and begun, with its payload in place, or a refusal. Others
  // change nothing.
  void on_reply(std::uint32_t table, std::uint32_t chunk, const reply& item,
                worker_effects& out);

  // As on_ack() and on_reply(), for the chunks of a run on one shard.
  void on_doorbell_ack(const part_run& where, std::uint64_t clock, reply_code code,
                       worker_effects& out);
  void on_doorbell_reply(const part_run& where, const reply& item, worker_effects& out);

  // Sends again what has waited too long for its answer. `now`: any clock that does not go
  // back, in nanoseconds. To be called now and then while is_busy().
  void tick(std::int64_t now, worker_effects& out);
  void set_retransmit_limits(const retransmit_limits& limits) { retransmit_limits_ = limits; }
  // Returns true if a push, a pull or a farewell has no answer.
  bool is_busy() const;

  // Says where chunks live, and where the last pull found them.
  const table_book& tables() const noexcept { return tables_; }

  // Returns why every operation is refused from now on, ok while all is well.
  reply_code failure() const noexcept { return failure_; }
  // Returns the clock that the worker is at.
  std::uint64_t now() const noexcept { return clock_; }
  // Returns how many pushes are not acknowledged: shards may still read their gradients.
  std::uint64_t pushes_under_way() const noexcept { return credits_.pushes(); }
  // Returns true if no shard reads the gradient of this clock any more. The table is known.
  bool is_acknowledged(std::uint32_t table, std::uint64_t clock) const;
  // Returns how stale replies were so far: own clock - min clock, in clocks.
  const staleness_record& staleness() const noexcept { return staleness_; }

 private:
  static constexpr auto window = worker_table::window;

  // Of the push of an exchange, whose end nobody waits for.
  static constexpr operation unnamed = ~operation{0};

  bool may_move_on() const;
  void begin_push(worker_table& table, operation op, std::uint32_t half = 0, float rate = 1.0F);
  void send_or_wait(std::uint32_t id, const worker_table& table, worker_effects& out);
  // Sends what is held back, after the commit of this clock or without it.
  void let_go(bool commits, worker_effects& out);
  bool exchange_waits() const { return exchange_.op != 0 && credits_.waits(exchange_.clock); }
  void send_waiting(worker_effects& out);
  void send_exchange(worker_effects& out) const;
  void ack(push_state& push, std::uint32_t chunk, reply_code code, worker_effects& out);
  void answer(std::uint32_t id, worker_table& table, std::uint32_t chunk, const reply& answer,
              worker_effects& out);
  void ended(operation op, reply_code code, worker_effects& out);
  void settle(worker_effects& out);
  void fail(reply_code code, worker_effects& out);

  table_book tables_;
  std::uint64_t clock_ = 0;
  std::uint64_t last_request_ = 0;
  credit_window credits_;
  operation room_op_ = 0;
  operation finish_op_ = 0;
  struct {
    operation op = 0;
    std::uint64_t remaining = 0;  // pulls
    reply_code code = reply_code::ok;
    // For its pushes:
    std::size_t listed = 0;
    std::uint64_t clock = 0;
    std::uint64_t request = 0;
    std::uint32_t half = 0;
    float rate = 1.0F;
  } exchange_;
  commit_gate commits_;
  bool finished_ = false;
  farewell farewell_;
  retransmit_limits retransmit_limits_;
  reply_code failure_ = reply_code::ok;  // of a push or farewell; ended everything
  staleness_record staleness_;
};

}  // namespace tidegate::policies
