// The client side of a job: what a worker program uses, and all it needs.
//
//   auto s = session::connect();                    // from the launcher's environment
//   auto t = s->open_table("weights", {784, 10});
//   s->pull(*t).wait();                              // the version that the policy allows
//   compute(s->parameters(*t), s->gradient(*t));     // reads one, writes the other
//   s->push(*t).wait();                              // wait = applied exactly once
//   s->clock();                                      // this worker's next clock
//
// One clock of one worker: any pulls of a table, then at most one push of it, then clock(). The
// policy (`bsp`, `ssp`, `async`) of the job decides how long a pull waits. Errors are values.
//
// Thread rule: a session belongs to one thread at a time. Callbacks given to `pending::then`
// run on the session's reactor thread and must not block or call the session. Ownership: spans
// passed to push and pull stay the caller's, must outlive the returned `pending` becoming
// ready, and must not be written (push) or read (pull) before that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tidegate/pending.hpp>
#include <tidegate/status.hpp>
#include <tidegate/table.hpp>

namespace tidegate {

class session;

namespace actors {
class session_impl;
struct session_parts;
expected<session> join(session_parts parts);
}  // namespace actors

// Who this worker is; fixed for the life of a session.
struct job_info {
  std::string job;
  std::string policy;      // "bsp", "ssp(3)", "async"
  std::uint32_t rank = 0;  // 0 .. workers - 1
  std::uint32_t workers = 1;
  std::uint64_t seed = 1;
  std::uint32_t incarnation = 1;  // higher: it took the place of a process that died
};

// What the launcher's status line shows; sent now and then, not on every clock.
struct progress {
  std::uint64_t clocks_total = 0;  // clocks this worker will run; 0: unknown
  double epoch = 0;                // epochs done, may be fractional
  double loss = 0;                 // training loss, smoothed as the program likes
  std::uint64_t samples = 0;       // samples this worker has processed so far
};

class session {
 public:
  // Joins the job named in the environment: TIDEGATE_COORDINATOR, TIDEGATE_JOB, TIDEGATE_RANK,
  // ... Blocks until the cluster admits this worker. Errors: invalid_argument (not started by
  // the launcher), unavailable, timed_out, refused.
  static expected<session> connect();

  session(session&&) noexcept;
  session& operator=(session&&) noexcept;
  ~session();  // without finish(): the job learns that this worker left early, and fails

  const job_info& info() const noexcept;
  // This worker's clock: from 0, or where it goes on when it took the place of a process that
  // died. A program that does the same at the same clock, whichever process runs it, and begins
  // at now(), is one that may die at any moment; others are refused when they come back.
  std::uint64_t now() const noexcept;

  // Creates the table or attaches to the one of that name; row-major float32 of `shape`. The
  // first worker to come decides; a different shape or options afterwards, and options that
  // YAML would not take: invalid_argument. Tables that the YAML declares keep the YAML's
  // optimizer and init when `options` is left out.
  expected<table> open_table(std::string_view name, std::vector<std::uint64_t> shape);
  expected<table> open_table(std::string_view name, std::vector<std::uint64_t> shape,
                             const table_options& options);

  // Where this clock's gradient of a table may be written: memory that shards of this host sum
  // straight from. Valid until the push of this clock: the next clock's may be elsewhere.
  // Empty for a table that this session did not open. Blocks as push does; when that fails, as
  // the next push then says, it is memory that nobody reads.
  std::span<float> gradient(const table& where);
  // The parameters as the last pull found them, read where a shard of this host keeps them or
  // where they were received. Valid until this worker's next pull or push of the table: read
  // them before you push. Empty from then on, until the next pull in place has ended.
  std::span<const float> parameters(const table& where) const;
  // The same where it lies, ascending, without gaps. Shards keep a chunk's versions in several
  // places, and under ssp and async neighbours may be apart; parameters() then copies them
  // together. Under bsp there is one stretch, of all but tables of very many chunks
  // (docs/architecture.md, Data plane).
  std::span<const stretch> parameter_stretches(const table& where) const;

  // As the calls with spans below, without a copy: pushes what gradient() holds, pulls to where
  // parameters() says.
  pending push(const table& where);
  pending pull(const table& where);
  // One clock in one call: pushes these tables, ends the clock, and pulls them at the new
  // clock, all in place. Blocks until they are there; chunks come back while others are on
  // their way. The gradient may still be read after that, by a replica say: the next clock's is
  // elsewhere. Errors: those of push, clock and pull; of a push that fails later, those of the
  // next call.
  status exchange(std::span<const table> tables);

  // This worker's gradient of this clock. Blocks while pushes of the clock before the last are
  // under way (limits.hpp), which bounds the memory of shards. Ready when a shard has applied
  // it (under BSP: when every worker's is there), exactly once. Errors: those of earlier
  // pushes, invalid_argument (size), not_finite (names the element), out_of_order (second push
  // of the clock), unavailable.
  pending push(const table& where, std::span<const float> gradient);

  // Parameters as the policy allows at this clock. Errors: invalid_argument (size),
  // out_of_order (this clock's push of the table was already made, or a pull of it is under
  // way), unavailable.
  pending pull(const table& where, std::span<float> parameters);

  // Parameters with every update of every worker in them: waits until all have finished or have
  // come to this worker's clock, whatever the policy.
  pending pull_final(const table& where, std::span<float> parameters);
  pending pull_final(const table& where);  // in place

  // Ends this worker's clock. A table not pushed adds nothing to its clock; when nobody pushes
  // it, no step is made. Where nothing was pushed, where memory of the program's own was, and
  // in bsp jobs with aggregators, it blocks until a push of the new clock would not: two such
  // buffers in turn suffice. Errors: those of earlier pushes that have failed by now; of those
  // that fail later, the next call says so.
  status clock();

  void report(const progress& now);
  void report_metric(std::string_view name,
                     double value);  // into result.json: "test_accuracy", "loss"

  // This worker is done: waits for its pushes, tells the shards; rank 0 also waits for the
  // others and hashes the parameters. Nothing may be called afterwards.
  status finish();
  // This worker cannot go on; the job ends as failed with this message.
  void fail(const status& why);

 private:
  friend expected<session> actors::join(actors::session_parts parts);
  explicit session(std::unique_ptr<actors::session_impl> self) noexcept;
  pending push_from(const table& where, std::span<const float> gradient, const float* from);

  std::unique_ptr<actors::session_impl> impl_;
};

}  // namespace tidegate
