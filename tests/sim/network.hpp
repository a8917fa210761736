// The network of a simulated cluster: frames with payload between processes, and questions of
// the control plane.
//
// Frames may be late, overtake each other, come twice, or not at all; the frames of a bundle
// share that. A payload is read from its sender's memory late, that of a lone frame when it has
// been given a place, as in a rendezvous: so whoever writes there before on_sent() changes what
// arrives. A process that is gone neither sends nor receives, and its peers hear of it after a
// while. One that is stalled takes nothing until it goes on. Questions are answered or fail.
// Everything is drawn from the simulation's chance. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/transport/frame.hpp"
#include "tests/sim/draws.hpp"
#include "tests/sim/schedule.hpp"

namespace tidegate::sim {

using process_id = std::uint32_t;  // of one life of a process; never used again

// Memory that outlives its process while somebody has it mapped.
using region = std::shared_ptr<std::vector<float>>;

struct memory_view {
  region where;
  std::size_t first = 0;
  std::size_t count = 0;

  explicit operator bool() const noexcept { return where != nullptr; }
  std::span<float> values() const { return {where->data() + first, count}; }
};

// A process, as the network sees it.
class endpoint {
 public:
  virtual ~endpoint() = default;
  // Where a payload goes; none refuses the frame.
  virtual memory_view place(process_id from, const runtime::frame_header& header) = 0;
  virtual void on_frame(process_id from, const runtime::frame_header& header,
                        memory_view payload) = 0;
  // A frame that was given a place will not come.
  virtual void on_frame_lost(process_id from, const runtime::frame_header& header) = 0;
  virtual void on_sent(std::uint64_t token) = 0;
  virtual void on_peer_lost(process_id peer) = 0;
  // The connection to this peer broke, or an attempt to make it again failed.
  virtual void on_connection_broke(process_id peer) = 0;
};

// What the network does to what is sent.
struct network_faults {
  nanoseconds latency_min = 20 * microsecond;
  nanoseconds latency_max = 200 * microsecond;
  double drop = 0;       // frames that never come
  double duplicate = 0;  // frames that come twice
  double straggle = 0;   // frames that are `straggle_max` late
  nanoseconds straggle_max = 50 * millisecond;
  double slow =
      0;  // lone payloads whose transfer takes up to `slow_max`, once they have a place
  nanoseconds slow_max = 200 * millisecond;  // longer than it takes to connect anew
  nanoseconds detect_max = 5 * millisecond;  // from a death until a peer hears of it
  nanoseconds grain = 0;  // frames arrive at multiples of it: many at once, in any order
};

struct outgoing {
  runtime::frame_header header;
  memory_view payload;
  std::uint64_t token = 0;  // what on_sent() tells
};

class network {
 public:
  network(schedule& time, draws& chance) : time_(time), chance_(chance) {}

  // Faults from now on. `none` heals everything.
  void set_faults(const network_faults& faults) { faults_ = faults; }
  const network_faults& faults() const noexcept { return faults_; }
  // Between these two sides nothing passes until `until`; what is sent waits.
  void partition(const std::set<process_id>& side, nanoseconds until);

  void join(process_id who, endpoint& what);
  // They hear of each other's end, even if they never exchange anything.
  void introduce(process_id one, process_id other) { meet(one, other); }
  // It is dead: whoever has exchanged anything with it hears of that.
  void leave(process_id who);
  // The connection between two that live breaks, and no other is made for so long: what they
  // have asked is not answered, and each takes the other for dead.
  void cut_off(process_id one, process_id other, nanoseconds until);
  // The connection from one to the other breaks while both live: what is on its way over it is
  // lost, and what is posted until reconnect(), which fails before `until`. `silent`: nobody is
  // told that it fails, and what is posted afterwards is lost until it is called once more.
  void break_connection(process_id from, process_id to, nanoseconds until, bool silent = false);
  // `from` makes a connection to `to` in place of the one that it had. Fails for the dead.
  void reconnect(process_id from, process_id to);
  // Those who have exchanged anything with `who`.
  const std::set<process_id>& peers_of(process_id who) { return met_[who]; }
  bool lives(process_id who) const { return endpoints_.contains(who); }

  // A frame, or a bundle of several.
  void post(process_id from, process_id to, std::vector<outgoing> message);
  void post(process_id from, process_id to, const runtime::frame_header& header,
            memory_view payload, std::uint64_t token) {
    post(from, to, {{header, std::move(payload), token}});
  }
  // `arrive` runs at `to` if it lives then, else `fail` at `from` if that does. In the order of
  // the calls between two processes, as over one connection.
  void ask(process_id from, process_id to, std::function<void()> arrive,
           std::function<void()> fail);

  // What is on its way from one to the other is lost, and what will be: the sender has closed
  // the endpoint.
  void disconnect(process_id from, process_id to) { closed_.insert({from, to}); }

  // As by SIGSTOP and SIGCONT: nothing runs in it in between, and what reaches it waits.
  void stall(process_id who) { stalled_[who]; }
  void go_on(process_id who);
  // Runs there now, or when it goes on, perhaps to find it gone.
  void run_at(process_id who, std::function<void()> what);

  struct counters {
    std::uint64_t messages = 0;
    std::uint64_t dropped = 0;
    std::uint64_t doubled = 0;
    std::uint64_t late = 0;
  };
  const counters& counted() const noexcept { return counted_; }

 private:
  // What the copies of a message have in common.
  struct flight {
    std::vector<outgoing> frames;
    bool twice = false;
    bool told = false;  // the sender knows that it has been sent
  };
  struct message {
    process_id from = 0;
    process_id to = 0;
    std::shared_ptr<flight> shared;
    std::uint32_t connection = 0;  // over which it goes; see opened_
  };
  nanoseconds arrival(process_id from, process_id to);
  void send_on(const message& what);
  bool is_open(const message& what) const {
    const auto current = opened_.find({what.from, what.to});
    return !closed_.contains({what.from, what.to}) &&
           (current == opened_.end() || current->second == what.connection);
  }
  void arrive(const message& what);
  void unpack(const message& what);
  void announce(const message& what);
  void tell_sent(const message& what);
  void transfer(const message& what, memory_view place);
  void meet(process_id one, process_id other);
  void tell_lost(process_id to, process_id who);
  void tell_broken(process_id to, process_id peer);

  struct cut {
    std::set<process_id> side;
    nanoseconds until = 0;
    process_id from_only = 0;  // whom it cuts the side off from; 0: all others
  };

  schedule& time_;
  draws& chance_;
  network_faults faults_;
  std::map<process_id, endpoint*> endpoints_;
  std::map<process_id, std::set<process_id>> met_;
  std::vector<cut> cuts_;
  std::map<process_id, std::deque<std::function<void()>>> stalled_;  // what has reached them
  std::map<std::pair<process_id, process_id>, nanoseconds> asked_;   // arrival of the last one
  std::set<std::pair<process_id, process_id>> closed_;
  std::map<std::pair<process_id, process_id>, std::uint32_t> opened_;  // connections, so far
  struct outage {
    nanoseconds until = 0;
    bool silent = false;
  };
  std::map<std::pair<process_id, process_id>, outage> broken_;
  std::map<std::pair<process_id, process_id>, std::uint32_t> connection_;  // cut off so often
  counters counted_;
};

}  // namespace tidegate::sim
