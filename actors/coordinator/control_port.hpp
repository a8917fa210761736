// What the coordinator's shell lives on: control connections to the members, clocks, a timer.
// CAF is one port, the simulated network another; neither decides anything.
//
// Thread rule: everything belongs to the coordinator's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "policies/coordinator/core.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// The other end of a control connection.
struct control_peer {
  std::uint64_t handle = 0;   // of a member over this connection; never used again
  std::uint64_t process = 0;  // stays the same while the process lives; 0: this process
};

// The sender of a message.
struct control_sender {
  std::uint64_t token = 0;    // of the run, as the message says
  std::uint64_t process = 0;  // as in control_peer
};

// The answer to a request.
struct control_reply {
  runtime::status result;
  std::variant<std::monostate, policies::worker_welcome, policies::table_grant,
               std::vector<policies::table_grant>, policies::cluster_status>
      value;
};
using reply_to = std::function<void(control_reply)>;

// What a shard or aggregator has answered to a call.
struct call_answer {
  runtime::status result;
  std::uint64_t number = 0;
  std::vector<policies::chunk_clock> clocks;
};

class control_port {
 public:
  virtual ~control_port() = default;

  virtual void log_error(const std::string& line) = 0;
  virtual std::int64_t unix_now() const = 0;    // nanoseconds
  virtual std::int64_t steady_now() const = 0;  // nanoseconds of a clock that never goes back

  // Tells connection_lost() once, when this connection ends.
  virtual void watch(const control_peer& peer) = 0;
  // Sends a call. Its answer comes by call_answered(), unless the connection is lost before:
  // then nothing comes.
  virtual void call(const control_peer& to, policies::call_id call,
                    const policies::shard_call& content) = 0;
  // These are not answered, and lost with the connection.
  virtual void tell(const control_peer& to, const policies::shard_moved& moved) = 0;
  virtual void tell(const control_peer& to, const policies::host_call& call) = 0;
  virtual void stop(const control_peer& member) = 0;  // in order
  // Another has taken the place of this process, which is to end at once.
  virtual void expel(const control_peer& member, const runtime::status& why) = 0;

  // Returns whether the process with this link address may live: false where this host sees
  // that it has ended, or is ending.
  virtual bool may_live(const std::string& address) const = 0;
  // Calls look() once, after so long.
  virtual void look_in(std::int64_t pause_ns) = 0;
  // The coordinator ends, and nothing is sent any more. `why`: ok where it was told to.
  virtual void end(const runtime::status& why) = 0;
};

// What a coordinator keeps for the one after it.
class coordinator_storage {
 public:
  using done = std::function<void(const runtime::status&)>;
  virtual ~coordinator_storage() = default;

  // The run begins with this where no journal says otherwise.
  virtual const policies::restored_cluster& found() const = 0;
  // Makes the records durable, which stay until then. `then` runs once, perhaps before this
  // returns. Errors: the records are durable as a whole or not at all; nobody knows which, and
  // the coordinator ends.
  virtual void write(const std::vector<policies::coordinator_record>& records, done then) = 0;

  // The next checkpoint of this job has a higher number than `id`.
  virtual void begin_after(const std::string& job, policies::checkpoint_id id) = 0;
  virtual policies::checkpoint_id begin(const std::string& job) = 0;
  virtual void write(const policies::coordinator_effects::write_manifest& manifest,
                     done then) = 0;
};

}  // namespace tidegate::actors
