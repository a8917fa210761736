// What a worker's session does besides pushing and pulling, and in which order: join the job,
// open tables, say which are open before anything moves, end.
//
// One operation at a time, which is asserted. An operation begins with a call that returns its
// first step; the shell carries the step out, passes the result to next(), and gets the
// following one, until `done`. Steps are questions to the coordinator or commands to the worker
// core's shell. A step begins when the one before it has been answered. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct session_step {
  enum class action : std::uint8_t {
    // To the coordinator; its answer, or the reason why there was none, goes to next().
    ask_welcome,
    ask_grant,      // `request`
    tell_opened,    // `tables`
    tell_finished,  // after `farewell`; with the hash, if `hashed`, after the last `hash`; else
                    // answered with all tables to hash, or none
    tell_failed,    // `why`
    tell_metric,    // `why`: its name; `value`
    // To the worker; next() follows when it is done.
    attach,       // open `grant` at the shards: the table can be used afterwards
    farewell,     // wait until all pushes are acknowledged, then tell the shards
    pull_to_end,  // pull `grant` as all workers leave it
    hash,         // add what was pulled of `grant` to the job's hash
    done,         // the operation has ended with `result`
  };
  action kind = action::done;
  runtime::status result;
  std::string why;
  double value = 0;
  table_request request;
  table_grant grant;
  std::vector<std::uint32_t> tables;
  bool hashed = false;
};

using session_answer =
    std::variant<std::monostate, worker_welcome, table_grant, std::vector<table_grant>>;

class session_core {
 public:
  // Begins to join the job; welcome() is valid when the operation has ended well. Errors: those
  // of the step.
  session_step join(const worker_hello& hello);
  // Begins to open a table; the last step has its grant. Errors: out_of_order (something has
  // moved, or the session has ended), those of the steps.
  session_step open(const table_request& request);
  // Notes that the program has asked which clock it is at, or what it keeps.
  void clock_asked() noexcept { knows_clock_ = true; }
  // To be called before a push, clock or exchange: the first time it tells the coordinator
  // which tables are open, later it ends at once. Errors: out_of_order (the worker came back in
  // the middle of the job, and the program goes on as if it were at the beginning).
  session_step before_moving();
  // Begins the farewell to the shards: other workers wait for no clock of this worker any more,
  // and the coordinator still counts on it. finish() follows. Errors: those of the step.
  session_step end_clocks();
  // Begins the farewell to the shards, unless end_clocks() was it, and then to the coordinator,
  // and hashes the tables if this worker is asked to. Errors of this and of next(): those of
  // the steps.
  session_step finish();
  // Begins to tell the coordinator that the job fails, and why.
  session_step fail(const std::string& why);
  session_step tell_metric(const std::string& name, double value);
  // Ends the session: fails the job if it was joined, and neither finished nor failed.
  session_step leave();

  // Takes the result of the step that was carried out, and returns the following one. `answer`:
  // what the coordinator answered, if it was asked and `result` is ok. A failed step ends the
  // operation with its result.
  session_step next(runtime::status result, session_answer answer = {});

  // Returns true if an operation has begun and not ended.
  bool is_busy() const noexcept { return doing_ != doing::nothing; }
  const worker_welcome& welcome() const noexcept { return welcome_; }
  const worker_hello& hello() const noexcept { return hello_; }
  // Returns the grant of an opened table, or null; valid as long as this.
  const table_grant* table(std::uint32_t id) const;

 private:
  enum class doing : std::uint8_t {
    nothing,
    joining,
    opening,
    declaring,
    ending_clocks,
    finishing,
    failing,
    measuring
  };

  session_step begin(doing operation, session_step::action first);
  session_step end(runtime::status result);
  session_step after_join(session_answer& answer);
  session_step after_open(session_answer& answer);
  session_step after_finish(session_answer& answer);
  session_step next_table();

  worker_hello hello_;
  worker_welcome welcome_;
  std::map<std::uint32_t, table_grant> tables_;
  bool joined_ = false;
  bool declared_ = false;
  bool knows_clock_ = false;
  std::string why_;  // it may not go on
  bool clocks_ended_ = false;
  bool ended_ = false;
  doing doing_ = doing::nothing;
  session_step::action at_ = session_step::action::done;  // the step being carried out
  table_grant grant_;                                     // being opened
  std::vector<table_grant> hashing_;                      // of the job, the next one last
  bool hashes_ = false;
};

}  // namespace tidegate::policies
