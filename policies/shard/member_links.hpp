// The members of each job, that is the processes that push to this shard or aggregator, and the
// connections to them: which member is reached over which one, which broke and are made again,
// and which members are asked to send again what was refused for want of something that has
// come since.
//
// One thread. Once warm, nothing allocates but for new members.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "policies/protocol/control_calls.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/ingress_shell.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies::sharding {

struct ingress_state;

class member_links {
 public:
  using peer_id = ingress_shell::peer_id;

  // A table that the member has on a device, too. Its answers may name the version buffers of
  // `buffers` there, bit b standing for b: as its last pull by a doorbell, number `request`,
  // says. Frames may be doubled and come late.
  struct device_reader {
    bool reads_gradients = false;  // this side does, there
    std::uint64_t request = 0;
    std::uint64_t buffers = 0;
  };
  struct member {
    std::uint32_t incarnation = 0;
    peer_id peer = 0;
    bool lost = false;
    bool unverified = false;  // nobody has answered over the connection since it was made again
    std::set<std::uint32_t> attached;                  // tables
    std::map<std::uint32_t, device_reader> on_device;  // by table
    std::uint64_t payload_bytes_copied = 0;            // of its pushes
  };

  explicit member_links(ingress_state& state) : state_(state) {}

  // Returns the member that a rank is now, or null.
  member* find(std::uint64_t job, std::uint32_t rank);
  // The same, but null if that is another process than the tag's.
  member* find(const frame_tag& tag);
  const member_key* member_at(peer_id peer) const;
  // Sends to the process of the tag, if that can be reached.
  void send(const frame_tag& tag, runtime::frame_header header);
  // Sends to every process of header.job that can be reached.
  void send_all(runtime::frame_header header);
  // Returns the process of the tag if it can be reached, else null.
  const member* reachable(const frame_tag& tag);

  // Notes what a doorbell that pulls says of a device.
  void pulls(const frame_tag& tag, std::uint64_t device_buffers);
  // Returns true if the answer to this pull may name the version buffer on the device.
  bool reads_on_device(const frame_tag& tag, std::uint32_t version_buffer);

  // Returns true if the process is to be connected to, false if it has a connection, or one
  // that mend() makes again.
  bool expect(const admit_worker_call& call);
  void connected(const admit_worker_call& call, peer_id peer);
  // Forgets a rank that has left for good, with its connection, replies and memory.
  void remove(std::uint64_t job, std::uint32_t rank);
  // Takes in that the job is closed: members that cannot be reached do not come back.
  void closed(std::uint64_t job);
  // Returns the closed jobs whose last member has gone since the last call: nobody reads their
  // memory any more. A job may come more than once.
  std::vector<std::uint64_t> take_deserted() { return std::exchange(deserted_, {}); }

  // ingress_core::peer_lost(), connection_broke(), mend(), promoted(), and what goes with them.
  void peer_lost(peer_id peer);
  void connection_broke(peer_id peer, std::int64_t now);
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void promoted(std::uint64_t job);
  void set_limits(const reconnect_limits& limits) { reconnects_.set_limits(with_end(limits)); }
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }
  // Takes in a member's `resend` or `resent`.
  void on_resend(const frame_tag& tag, const runtime::frame_header& header);
  // Asks a member to send again what is not acknowledged, or answers that.
  void send_resend(const frame_tag& tag, runtime::frame_kind kind, std::uint64_t attempt);

  // Notes that a frame of this process was refused. If that was for want of what the
  // coordinator tells, ask_refused() asks the process to send again.
  void refused(const frame_tag& tag, reply_code code);
  // Notes that there was no room for a frame of this process; ask_unplaced() asks it to send
  // again.
  void had_no_room(const frame_tag& tag);
  void ask_refused(std::uint64_t job);
  void ask_unplaced();

 private:
  // A member may have exited because it has finished, of which only the launcher hears. One
  // that lives says so when it makes its own connection again.
  static reconnect_limits with_end(reconnect_limits limits) {
    limits.give_up_ns = 24 * limits.answer_most_ns;
    return limits;
  }
  void leave(peer_id peer);
  void wait_to_ask(const frame_tag& tag);

  ingress_state& state_;
  std::map<std::uint64_t, std::map<std::uint32_t, member>> members_;  // by job, by rank
  std::map<peer_id, member_key> peers_;
  std::set<member_key> to_ask_;  // frames of these were refused, or found no room
  bool unplaced_ = false;        // there are some whose frames found no room
  reconnect_schedule<member_key> reconnects_{with_end({})};
  std::vector<send_name> dropped_;
  std::vector<std::uint64_t> deserted_;
};

}  // namespace tidegate::policies::sharding
