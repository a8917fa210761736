// What a shell of the data path lives on: the link that it owns, the time, its address, and
// turns. The reactor is one, a simulated process another; neither decides anything.
//
// Thread rule: everything belongs to the thread that progresses the link. A turn is what runs
// between two looks at the link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/arrivals.hpp"
#include "policies/sending/send_queue.hpp"
#include "policies/shard/ingress_core.hpp"
#include "policies/supervision/reachability_judge.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/trace_span.hpp"
#include "runtime/functions/function_library.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

// Work that is put off to the end of a turn, or to the next one.
class continuation {
 public:
  virtual ~continuation() = default;
  virtual void go_on() = 0;
};

// What may differ between two homes without making a difference to what is promised.
struct shell_limits {
  policies::send_limits sends;
  std::uint64_t turn_bytes = policies::ingress_core::turn_bytes_default;
  // Of the tables that a shard opens, made in a turn.
  std::uint64_t opening_bytes = 1U << 20U;
  policies::retransmit_limits retransmit;
  policies::reconnect_limits reconnects;
  // Pauses between looks: while connections are made again, and where frames may be lost.
  std::int64_t look_mending_ns = 10'000'000;
  std::int64_t look_lossy_ns = 100'000'000;
};

enum class severity : std::uint8_t { info, warning, error };

class shell_home {
 public:
  virtual ~shell_home() = default;

  virtual void log(severity level, const std::string& line) = 0;

  virtual runtime::link& link() noexcept = 0;
  // Nanoseconds of a clock that never goes back.
  virtual std::int64_t now() const = 0;
  // Likewise, for times that are only compared with each other: it may be another clock, which
  // costs less.
  virtual std::int64_t record_now() const { return now(); }
  virtual const shell_limits& limits() const noexcept = 0;

  // What shards run for workers that call it. Stays.
  virtual const runtime::function_library& functions() const {
    return runtime::function_library::built_in();
  }

  // Of this process, for others to connect to.
  virtual const std::string& address() const noexcept = 0;
  // Connects the link to the process at this address. Errors: those of link::connect.
  virtual runtime::expected<runtime::peer_id> connect(const std::string& address) = 0;
  // Whether the process at this address is on this host and may read our memory.
  virtual bool shares_memory_with(const std::string& address) const = 0;
  // Another process has taken the place of the one at this address: if that lives and reads
  // our memory in place, it is ended before the memory is written again. Errors: it cannot be.
  virtual runtime::status fence(const std::string& replaced) = 0;

  // Ends the link by force: payloads that are being received or sent end, nothing is told of
  // them, and no place is asked for any more.
  virtual void break_link() = 0;

  // Calls go_on() once, after the next look at the link.
  virtual void after_progress(continuation& work) = 0;
  // Likewise before it, when everything that is ready now has run.
  virtual void before_progress(continuation& work) = 0;
  // What was put off for it is not called.
  virtual void forget(const continuation& work) = 0;

  // Tells the coordinator, if there is one, that these peers have been out of reach.
  virtual void report_unreachable(const std::vector<policies::unreachable_peer>& peers) = 0;

  // Returns what has kept this process, and the thread that calls, from running so far. Takes
  // some microseconds.
  virtual policies::process_pressure pressure() const { return {}; }

  // Returns how much of this process is in memory. Takes some microseconds.
  virtual std::uint64_t resident_bytes() const { return 0; }

  // Returns for how long the program has waited for what comes by `now`, a time of
  // record_now(): a clock that stands still while it does something else. Or `now`, where it
  // takes what comes at any time.
  virtual std::int64_t waited_by(std::int64_t now) const { return now; }

  // Tells the coordinator, if there is one, when pushes came in.
  virtual void report_arrivals(const policies::shard_report& /*report*/) {}

  // Whether anybody reads what record() is told.
  virtual bool records() const noexcept { return false; }
  // Notes what was done, with times of record_now(). Allocates nothing, waits for nobody.
  virtual void record(const runtime::trace_span& /*span*/) noexcept {}

  // Calls look() of the shell that lives here, once, after so long.
  virtual void look_in(std::int64_t pause_ns) = 0;

  // Whether turns must come while nobody waits for one; see reactor::run_in_background.
  virtual void run_in_background(bool /*on*/) {}
};

}  // namespace tidegate::actors
