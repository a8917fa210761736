// The launcher's conversation with the coordinator: connects, polls at intervals and on
// request, asks questions until they are answered, and in the end fails jobs and tells the
// cluster to stop. What is lost with the connection it says once more over a new one: another
// coordinator may have taken the place of the one before.
//
// One step at a time: begin() returns the first, the adapter carries it out, tells with next()
// how that went, and gets the following one, until `done`. Wishes (poll_now, ask, finish) may
// come at any time, also during a step. An adapter may block (a thread of the launcher) or be
// called back (the simulator); it decides nothing. Calls must not overlap: a lock is the
// adapter's. Time is an argument: nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// All that the poll_shell has found out.
struct poll_news {
  bool connected = false;
  bool gave_up = false;             // no connection within the time limit; `health` says why
  runtime::status health;           // of the last attempt
  std::uint64_t answered = 0;       // the latest poll_now() that this status comes after
  policies::cluster_status status;  // the latest; its events: those since the last take()
  // Answers to questions since the last take(), by the number that ask() gave.
  std::vector<std::pair<std::uint64_t, runtime::status>> answers;
};

struct poll_limits {
  std::int64_t interval_ns = 0;  // between two polls, and between two attempts to connect
  std::int64_t give_up_ns = 0;   // for the first connection
};

struct poll_step {
  enum class action : std::uint8_t {
    connect,
    reconnect,  // to the coordinator that is there now; unavailable: nobody listens
    poll,       // the status, with the events after `events_seen`
    ask,        // `question`
    rest,       // for `pause_ns`, or until ends_rest()
    fail_job,   // `job`, for the reason `why`
    stop,       // the coordinator and its cluster
    done,
  };
  action kind = action::done;
  std::uint64_t events_seen = 0;
  std::uint64_t question = 0;
  std::int64_t pause_ns = 0;
  std::string job;
  std::string why;
};

class poll_shell {
 public:
  using job_failures = std::vector<std::pair<std::string, std::string>>;  // job, why

  explicit poll_shell(const poll_limits& limits) : limits_(limits) {}

  poll_step begin(std::int64_t now);
  // Takes the result of the step; of `rest`, that it is over. `status`: the answer to a poll.
  poll_step next(std::int64_t now, const runtime::status& result = {},
                 policies::cluster_status status = {});
  // Returns whether somebody wishes something that a rest is not to hold up.
  bool ends_rest() const;

  // Polls without delay; poll_news::answered tells when. Counts from 1.
  std::uint64_t poll_now() { return ++requests_; }
  // Asks again until there is an answer; returns its number.
  std::uint64_t ask();
  bool is_open(std::uint64_t question) const;  // there is no answer yet
  // Polls once more, fails these jobs, stops the cluster.
  void finish(job_failures failures);
  // Ends all the same where that has not been asked for.
  void finish() { finishing_ = true; }

  const poll_news& news() const noexcept { return news_; }
  // Returns the news. Each event and answer is taken once.
  poll_news take();

 private:
  using action = poll_step::action;

  poll_step go(action kind);
  poll_step reconnected(std::int64_t now, const runtime::status& result);
  poll_step go_on(std::int64_t now, const runtime::status& result,
                  policies::cluster_status status);
  poll_step poll();
  poll_step rest();
  poll_step connected(std::int64_t now, const runtime::status& result);
  poll_step polled(const runtime::status& result, policies::cluster_status status);
  poll_step answered(const runtime::status& result);
  poll_step next_question();
  poll_step next_failure();

  poll_limits limits_;
  action at_ = action::done;
  poll_step current_;         // that the adapter carries out, or will when it has reconnected
  bool repeats_ = false;      // `current_`, over a new connection
  runtime::status lost_why_;  // its result over the one before
  std::int64_t connect_until_ = 0;
  std::uint64_t events_seen_ = 0;
  std::uint32_t incarnation_ = 0;  // of the coordinator that counts them
  std::uint64_t asked_ = 0;        // requests that came before the poll under way

  poll_news news_;
  std::uint64_t requests_ = 0;
  bool finishing_ = false;
  job_failures failures_;                 // still to be told
  std::vector<std::uint64_t> questions_;  // not answered yet
  std::vector<std::uint64_t> round_;      // to be asked after this poll, the next one last
  std::uint64_t last_question_ = 0;
  bool has_new_question_ = false;  // that nobody has tried to ask yet
};

}  // namespace tidegate::launch
