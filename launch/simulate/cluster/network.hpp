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

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::sim {

using process_id = std::uint32_t;     // of one incarnation of a process; never used again
using connection_id = std::uint32_t;  // from one process to another; never used again

// A process, as the network sees it.
class endpoint {
 public:
  virtual ~endpoint() = default;
  // Where a payload goes; none refuses the frame.
  virtual runtime::buffer frame_arriving(process_id from,
                                         const runtime::frame_header& header) = 0;
  virtual void frame_arrived(process_id from, const runtime::frame_header& header,
                             runtime::buffer payload) = 0;
  // A frame that was given a place will not come.
  virtual void frame_lost(process_id from, const runtime::frame_header& header) = 0;
  virtual void frame_sent(std::uint64_t token) = 0;
  // A process that this one has asked something, or been asked by, is gone.
  virtual void on_peer_lost(process_id peer) = 0;
  // The control connection of this number broke; the peer may live.
  virtual void on_control_broke(process_id /*peer*/, std::uint32_t /*number*/) {}
  // A connection of this process carries nothing any more: the other side has `died`, or the
  // connection broke, or could not be made.
  virtual void connection_lost(connection_id over, bool died) = 0;
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

class network {
 public:
  // `seed`: of what is drawn for news alone.
  network(schedule& time, draws& chance, std::uint64_t seed)
      : time_(time), chance_(chance), chance_of_news_(seed) {}

  // Faults from now on. `none` heals everything.
  void set_faults(const network_faults& faults) { faults_ = faults; }
  const network_faults& faults() const noexcept { return faults_; }
  // Between these two sides nothing passes until `until`; what is sent waits.
  void partition(const std::set<process_id>& side, nanoseconds until);

  // `whole`: the process that it is a part of, whose control connections it shares; 0: none.
  void join(process_id id, endpoint& target, process_id whole = 0);
  // They hear of each other's end, even if they never exchange anything.
  void introduce(process_id id, process_id other) { meet(id, other); }
  // It is dead: whoever has asked it, or has a connection to it, hears of that.
  void leave(process_id id);
  // The control connection between two processes that live breaks, and no other is made before
  // `until`: what is on its way is lost, and what they ask meanwhile fails. Each, and each part
  // of them, hears of it; `late`, if it is one of them, only after seconds.
  void break_control(process_id id, process_id other, nanoseconds until, process_id late = 0);
  // Counts the control connections between two, from 0.
  std::uint32_t control_number(process_id id, process_id other) const;
  // The connections from one to the other break while both live: what is on its way over them
  // is lost, and connect() fails before `until`. `silent`: whoever connects
  // meanwhile is told late, and what is posted over such a connection is lost.
  void break_connection(process_id from, process_id to, nanoseconds until, bool silent = false);
  // A connection, over which frames may be posted at once. Fails soon for the dead.
  connection_id connect(process_id from, process_id to);
  // `by` takes nothing more over the connections that `from` has to it: they break.
  void refuse(process_id from, process_id by);
  // What is on its way over it is lost, and what will be; of its end nobody is told.
  void disconnect(connection_id over);
  void disconnect_all(process_id from);
  process_id peer_of(connection_id over) const { return connections_[over - 1].to; }
  bool is_open(connection_id over) const { return connections_[over - 1].open; }
  // Those to whom `id` has a connection.
  std::set<process_id> linked_to(process_id id) const;
  bool lives(process_id id) const { return endpoints_.contains(id); }

  // A frame, or a bundle of several. Token 0 is not told.
  void post(connection_id over, std::span<const runtime::outgoing> message);
  // Likewise, of which the sender knows nothing: the payload is copied.
  void post_copy(connection_id over, const runtime::outgoing& frame);
  // `arrive` runs at `to` if it lives then, else `fail` at `from` if that does. In the order of
  // the calls between two processes, as over one connection.
  void ask(process_id from, process_id to, std::function<void()> arrive,
           std::function<void()> fail);
  // Likewise over the control connection of this number, with which it is lost.
  void tell(process_id from, process_id to, std::uint32_t number, std::function<void()> arrive);
  // Likewise over the control connection that there is, of what nobody decides by: how much of
  // it there is changes nothing else that is drawn.
  void tell_news(process_id from, process_id to, std::function<void()> arrive);

  // As by SIGSTOP and SIGCONT: nothing runs in it in between, and what reaches it waits.
  void stall(process_id id) { stalled_[id]; }
  void go_on(process_id id);
  // What it sends from now on is so much later.
  void delay(process_id id, nanoseconds by) { delays_[id] = by; }
  // Nothing that waits happens any more.
  void clear() { stalled_.clear(); }
  // Runs there now, or when it goes on, perhaps to find it gone.
  void run_at(process_id id, std::function<void()> action);

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
    std::vector<runtime::outgoing> frames;
    std::vector<std::vector<std::byte>> copies;  // of payloads, when the sender's may change
    bool twice = false;
    bool reported = false;  // the sender knows that it has been sent

    void copy_payloads();
  };
  struct message {
    process_id from = 0;
    process_id to = 0;
    std::shared_ptr<flight> shared;
    connection_id over = 0;
  };
  struct connection {
    process_id from = 0;
    process_id to = 0;
    bool open = true;
    bool closed = false;  // by its owner
  };
  nanoseconds arrival(process_id from, process_id to, draws& chance);
  void send_on(const message& packet);
  bool is_open(const message& packet) const { return is_open(packet.over); }
  void post(connection_id over, std::shared_ptr<flight> flying);
  void arrive(const message& packet);
  void unpack(const message& packet);
  void announce(const message& packet);
  void tell_sent(const message& packet);
  void transfer(const message& packet, const runtime::buffer& place);
  void tell_cut_off(process_id from, process_id to);
  void meet(process_id id, process_id other);
  void tell_lost(process_id to, process_id id);
  void tell_broken(process_id to, process_id peer, std::uint32_t number, nanoseconds most);
  process_id whole(process_id id) const;
  std::pair<process_id, process_id> control_key(process_id id, process_id other) const {
    return std::minmax(whole(id), whole(other));
  }
  std::vector<process_id> parts_of(process_id id) const;
  void tell_ended(connection_id over, bool died);

  struct cut {
    std::set<process_id> side;
    nanoseconds until = 0;
  };
  struct control_connection {
    std::uint32_t number = 0;
    nanoseconds until = 0;  // none can be made before
  };

  schedule& time_;
  draws& chance_;
  draws chance_of_news_;
  network_faults faults_;
  std::map<process_id, endpoint*> endpoints_;
  std::map<process_id, process_id> wholes_;  // of parts
  std::map<process_id, std::set<process_id>> met_;
  std::vector<cut> cuts_;
  std::map<process_id, std::deque<std::function<void()>>> stalled_;  // what has reached them
  std::map<process_id, nanoseconds> delays_;                         // of what they send
  std::map<std::pair<process_id, process_id>, nanoseconds> asked_;   // arrival of the last one
  std::map<std::pair<process_id, process_id>, nanoseconds> news_;    // likewise
  std::vector<connection> connections_;                              // by id - 1
  struct outage {
    nanoseconds until = 0;
    bool silent = false;
  };
  std::map<std::pair<process_id, process_id>, outage> broken_;
  // Payloads that had a place when their connection ended: whoever waits for one hears that it
  // is lost when its sender connects again, or has died, and not before, as UCX tells nobody.
  std::map<std::pair<process_id, process_id>, std::vector<runtime::frame_header>> cut_off_;
  std::map<std::pair<process_id, process_id>, control_connection> control_;  // of wholes
  counters counted_;
};

}  // namespace tidegate::sim
