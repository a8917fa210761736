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
// policy (`bsp`, `ssp`, `async`) of the job decides how long a pull waits. Errors are values;
// a call that returns a `pending` reports all of them there.
//
// Process rule: a session belongs to the process that connected. In a process that is forked
// from it every call fails (out_of_order), and the destructor does nothing; exec, or the end of
// such a process, harms no one.
//
// Thread rule: a session belongs to one thread at a time. Callbacks given to `pending::then`
// must not block or call the session (pending.hpp says where they run). Ownership: spans passed
// to push and pull stay the caller's, must outlive the returned `pending` becoming ready, and
// must not be written (push) or read (pull) before that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tidegate/device.hpp>
#include <tidegate/pending.hpp>
#include <tidegate/rows.hpp>
#include <tidegate/state.hpp>
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
  std::string policy;         // "bsp", "ssp(3)", "async"
  std::string reduce;         // "mean", "sum": what the workers' gradients come to
  std::uint32_t rank = 0;     // 0 .. workers - 1
  std::uint32_t workers = 1;  // wanted when this worker joined; `tidegate scale` changes it
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

struct place_options {
  std::function<bool()> interrupted;  // as of session::connect
  // The process may go on as several: copies of it, made by fork, which take places of their
  // own. No copy is made of a process that has threads or open files.
  bool may_copy = true;
  // What makes a copy where fork() does not suffice: returns what fork() does.
  std::function<int()> fork;
};

// Waits, in a process that the launcher keeps as a spare (jobs.*.spares), until it is to take
// the place of a worker that has died. Returns at once in any other process, and when it is
// called again. session::connect() does this first; a program whose way to connect() depends on
// its rank calls it when all else is ready, and asks for the rank afterwards. Errors: cancelled
// (interrupted, or the launcher has ended), io_error. One thread.
status await_place(const place_options& options = {});
// Returns the variables that the launcher has set for the place that this process has taken as
// a spare, TIDEGATE_RANK, RANK and others, which its environment lacks. Empty in a process that
// had its place as it began.
std::vector<std::pair<std::string, std::string>> place_variables();

// The membership of one worker in its job. A worker program makes one with connect(), opens its
// tables, runs its clocks, and ends with finish(). The session owns the reactor thread and the
// memory of its tables.
class session {
 public:
  // Joins the job named in the environment: TIDEGATE_COORDINATOR, TIDEGATE_JOB, TIDEGATE_RANK,
  // ... Blocks until the cluster admits this worker; in a spare, also until there is a place
  // (await_place()). Errors: invalid_argument (not started by
  // the launcher), unavailable, timed_out, refused, cancelled (interrupted).
  //
  // `interrupted`, where given, is asked about ten times a second by every call of the session
  // that blocks, this one included, and by `pending::wait`, on the thread that waits. The wait
  // ends as cancelled when it returns true. It must not call the session. After an interrupted
  // clock() or exchange() the session can only end, because nobody knows how far that came.
  static expected<session> connect(std::function<bool()> interrupted = {});

  session(session&&) noexcept;
  session& operator=(session&&) noexcept;
  // Ends the membership. Unless finish() or fail() was called before, the job fails, because
  // this worker left early. Operations that are under way end as cancelled.
  ~session();

  const job_info& info() const noexcept;
  // Returns this worker's clock: from 0, or from where it goes on if it took the place of a
  // process that died. A program may die at any moment if it begins at now() and does the same
  // at the same clock, whichever process runs it. A process that goes on in the middle of a job
  // and has neither called now() nor read what it keeps is refused at its first push or clock
  // (out_of_order).
  std::uint64_t now() const noexcept;

  // Creates the table, or attaches to the table of that name: row-major float32 of `shape`. The
  // worker that comes first decides on shape and options. Tables that the YAML declares keep
  // the YAML's optimizer and init when `options` is left out. Blocks until the table can be
  // used. Errors: invalid_argument (another shape or other options than the first worker's, or
  // options that YAML would not take), out_of_order (this process has pushed, or ended a
  // clock), over_limit, refused (the job has ended), unavailable.
  expected<table> open_table(std::string_view name, std::vector<std::uint64_t> shape);
  expected<table> open_table(std::string_view name, std::vector<std::uint64_t> shape,
                             const table_options& options);

  // Creates the table of rows, or attaches to the table of that name: rows of `dim` float32 by
  // 64-bit ids, of which any may be used. The worker that comes first decides on the options;
  // tables that the YAML declares keep the YAML's when `options` is left out. Blocks as
  // open_table(). Errors: those of open_table(), invalid_argument (the table is dense, or has
  // rows of another size; the job has aggregators or clips by the norm).
  expected<row_table> open_rows(std::string_view name, std::uint32_t dim,
                                const std::optional<row_table_options>& options = std::nullopt);

  // Returns where this clock's gradient of the table is to be written, table::size elements:
  // memory that shards of this host sum straight from. Valid until the push of this clock; the
  // next clock's gradient may lie elsewhere. Returns an empty span for a table that this
  // session did not open. Blocks as push does; if that fails, the memory is read by nobody, and
  // the next push reports the failure.
  std::span<float> gradient(const table& where);
  // Returns the parameters that the last pull in place found, table::size elements, where a
  // shard of this host keeps them or where they were received. Valid until this worker's next
  // pull or push of the table, or the end of its clock: read them before. Returns an empty span
  // after a push or pull, until the next pull in place has ended.
  std::span<const float> parameters(const table& where) const;
  // Returns the same parameters where they lie, ascending: all of the table, or after a pull of
  // ranges all of the chunks that they touch; valid as long as those. Shards keep a chunk's
  // versions in several places. Under ssp and async, and where ranges are pushed, neighbours
  // may be apart; parameters() then copies them together, once. Else there is one stretch, of
  // all but tables of very many chunks (docs/architecture.md, Data plane).
  std::span<const stretch> parameter_stretches(const table& where) const;

  // Has tables that are opened from now on lie on a device: there the program writes their
  // gradients and reads their parameters, by work on its own stream. push() and pull() in
  // place, and exchange(), then speak of that memory, in the order of the stream: a push is of
  // what all work has written that was queued before the call, and work that is queued after a
  // pull has ended finds the parameters. A shard of this host on the same device reads and
  // shows them there; for others they are copied. Called again with the same name it sets the
  // stream. Errors: invalid_argument (no such device, another than before, no stream of it),
  // not_found (fewer GPUs than that), io_error (no room), unavailable (what the program or
  // machine lacks).
  status use_device(const session_device& wanted);
  // gradient() and parameters() of a table on a device, which have nothing of such a table.
  // Gradients begin as zero, and hold what an earlier clock left. Errors: those of earlier
  // pushes, not_found (this session did not open the table on a device).
  expected<device_span> device_gradient(const table& where);
  const_device_span device_parameters(const table& where) const;
  // Push a gradient from, or pull parameters to, memory of the session's device that is the
  // program's own, for a table there: as the calls with spans of the host, in the order of the
  // stream. One copy on the device.
  pending push(const table& where, const_device_span gradient);
  pending pull(const table& where, device_span parameters);
  pending pull_final(const table& where, device_span parameters);
  // Copy between the host and memory of the session's device, after all that was queued on the
  // program's stream; block until that is done. For programs without a library of their own.
  // Errors: invalid_argument (sizes differ, no device), unavailable (the device is lost).
  status copy(device_span to, std::span<const float> from);
  status copy(std::span<float> to, const_device_span from);

  // Push what gradient() holds, and pull to where parameters() says: as the calls with spans
  // below, without a copy.
  pending push(const table& where);
  pending pull(const table& where);
  // Makes one clock in one call: pushes these tables, ends the clock, and pulls them at the new
  // clock, all in place. Blocks until the parameters are there; chunks come back while others
  // are on their way. A replica, for one, may still read the gradient after that: gradient() of
  // the next clock lies elsewhere then. Errors: those of push, clock and pull; a push that
  // fails later is reported by the next call.
  status exchange(std::span<const table> tables);

  // Pushes this worker's gradient of this clock, table::size elements. Blocks while pushes of
  // the clock before the last are under way (limits.hpp), which bounds the memory of shards.
  // The result is ready when a shard has applied the push exactly once (under bsp: when every
  // worker's push is there). Errors: those of earlier pushes, not_found (this session did not
  // open the table), invalid_argument (size), not_finite (names the element), out_of_order
  // (second push of the clock, or see now()), unavailable.
  pending push(const table& where, std::span<const float> gradient);

  // Writes the parameters that the policy allows at this clock to `parameters`, table::size
  // elements. Errors: not_found (this session did not open the table), invalid_argument (size),
  // out_of_order (this clock's push of the table was already made, or a pull of it is under
  // way), unavailable.
  pending pull(const table& where, std::span<float> parameters);

  // Push and pull ranges of a table, [first, last) in elements; they ascend, and do not
  // overlap. What clocks, credits and the policy are to a push or pull is the same. Elements of
  // other ranges are not pushed by this worker in this clock: an element that no worker pushes
  // keeps its parameter and its optimizer's state, so that the optimizer must be `lazy`
  // (table.hpp); where others push it, this worker counts as a gradient of zero. A range costs
  // what the chunks cost that it touches.
  //
  // In place, a push takes the elements of the ranges from what gradient() says, and leaves
  // others of the chunks that they touch with any contents; after a pull parameters() holds
  // what the policy allows in the ranges, and anything elsewhere. With `values` the elements of
  // all ranges lie one after the other, and are copied once. Errors: those of push and pull,
  // and invalid_argument (ranges that do not ascend, that overlap, are empty or end beyond the
  // table; values of another size, or that lie where gradient() is; a push to a table whose
  // optimizer is not lazy; a table on a device).
  pending push(const table& where, std::span<const element_range> ranges);
  pending push(const table& where, std::span<const element_range> ranges,
               std::span<const float> values);
  pending pull(const table& where, std::span<const element_range> ranges);
  pending pull(const table& where, std::span<const element_range> ranges,
               std::span<float> values);

  // Has shards compute a function of a table's parameters, as a pull of this clock would find
  // them, and returns its results: a few numbers, whatever the table's size. Blocks as a pull
  // does. Each shard runs the function on its chunks, in double precision, and the results of
  // chunks are combined in the order of chunks: they do not depend on how many shards there
  // are, and the last bits of sums on cluster.chunk_bytes alone. What the last pull found stays
  // as it is. A call whose wait was interrupted goes on, and the table takes no other until it
  // has ended. docs/worker.md lists the functions; plugins have others. Errors: those of pull,
  // not_found (no such function), invalid_argument (it refuses these arguments).
  expected<std::vector<double>> call(const table& where, std::string_view function,
                                     std::span<const double> arguments = {});

  // Pull the parameters with every update of every worker of the clocks before this one: the
  // results are ready when all other workers have finished or have come to this worker's clock,
  // whatever the policy. Errors: those of pull.
  pending pull_final(const table& where, std::span<float> parameters);
  pending pull_final(const table& where);  // in place

  // Ends this worker's clock. A table that this worker did not push adds nothing to its clock;
  // where no worker pushes it, no step is made. Blocks as a push of this clock does. Once
  // gradients have been pushed from memory of the program's own, and where aggregators sum for
  // a bsp job whose workers come back, it also blocks until a push of the new clock would not:
  // two buffers of the program's own, used in turn, suffice. Errors: out_of_order (a pull is
  // under way), those of earlier pushes that have failed by now; a push that fails later is
  // reported by the next call.
  status clock();

  // Multiplies the learning rate of every table, but for optimizers without a schedule, by
  // `factor` in steps made with this worker's pushes from now on, beside what the table's
  // schedule says. Where pushes of several workers make a step, the factor of the lowest rank
  // among them counts, so all workers set the same. A process that takes the place of a dead
  // one begins with 1: a program sets what follows from its clock. Errors: invalid_argument
  // (negative, or not finite), out_of_order (the session has ended).
  status scale_learning_rate(float factor);

  // Returns the state of this worker that outlives its process.
  worker_state state() const noexcept;

  // Sets the progress of this worker that the launcher's status line shows. It is sent now and
  // then, by this call and by later clocks. Does not wait.
  void report(const progress& now);
  // Puts a number into result.json under this name ("test_accuracy", "loss"), 1 to 128 bytes;
  // the last value of a name counts. Blocks until the coordinator has it; failures are logged.
  void report_metric(std::string_view name, double value);

  // Ends this worker's clocks before finish(): waits for its pushes, and tells the shards, so
  // that nobody waits for its clocks any more. The job still counts on this worker: a process
  // that dies before finish() is replaced by one that goes on at now(), after its last clock.
  // So what a program makes of its training can be stored between the two, whenever it is
  // killed. No table may be pushed or pulled afterwards. Errors: those of finish().
  status end_clocks();
  // Ends this worker's part of the job: waits for its pushes, and tells the shards and the
  // coordinator. The worker of the lowest rank that is left (mostly 0) also waits for the
  // others and hashes the parameters. No table may be opened, pushed or pulled afterwards.
  // Errors: those of earlier pushes, unavailable.
  status finish();
  // Ends the job as failed with this message. Blocks until the coordinator has heard of it;
  // failures of that are logged.
  void fail(const status& why);
  // Ends the membership as the destructor does, and keeps the memory that gradient() has named
  // until the destructor runs. Every later call fails (out_of_order).
  void leave();

 private:
  friend expected<session> actors::join(actors::session_parts parts);
  explicit session(std::unique_ptr<actors::session_impl> self) noexcept;
  pending push_from(const table& where, std::span<const float> gradient, const float* from);
  pending push_on_device(const table& where);

  std::unique_ptr<actors::session_impl> impl_;
};

// Says for how long the language of this process's program has just collected garbage. That is
// part of the time in which a worker computes, and `tidegate why` tells it apart. The Python
// package says it by itself. Any thread, also within a call of a session; does not wait.
void note_garbage(std::chrono::nanoseconds lasted) noexcept;

}  // namespace tidegate
