// The shell of a coordinator: carries out what policies::coordinator_core decides. It writes
// the journal before anybody hears of a decision, knows the members by their control
// connections, and judges those whose connection broke. A CAF actor is one adapter, a simulated
// process another. One thread, its port's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/coordinator/control_members.hpp"
#include "actors/coordinator/control_port.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::actors {

// Returns the answer to a worker whose place another has: `refused`, and a text to show.
runtime::status replaced(std::uint32_t rank, std::uint32_t incarnation);

class coordinator_shell {
 public:
  // `before`: what the journal holds. `life`: counts the coordinators of the run, from 1.
  coordinator_shell(const policies::cluster_spec& cluster, std::uint64_t token,
                    control_port& port, coordinator_storage& storage,
                    policies::recorded_cluster before, std::uint32_t life);

  void begin();
  // Answers `unavailable` to all who wait. Nothing is sent from then on.
  void close();

  // Messages. Each reply runs once, perhaps at once; `refused` is the answer to a process of
  // another run, or one whose place another has.
  void shard_joined(const control_sender& from, std::uint32_t index,
                    policies::group_member in_group, const std::string& address,
                    const control_peer& peer, reply_to reply);
  void aggregator_joined(const control_sender& from, const std::string& job,
                         std::uint32_t index, std::uint32_t incarnation,
                         const std::string& address, const control_peer& peer, reply_to reply);
  void worker_joined(const control_sender& from, const policies::worker_hello& hello,
                     const control_peer& peer, reply_to reply);
  void host_joined(const control_sender& from, policies::shard_slots::process slot,
                   std::uint32_t life, const std::vector<policies::hosted_member>& has,
                   const control_peer& peer, reply_to reply);
  void member_gone(const control_sender& from, const policies::hosted_member& member);
  // The worker behind this peer hears of moves from now on; at once of those that have been.
  void listen_for_moves(const control_sender& from, const std::string& job, std::uint32_t rank,
                        std::uint32_t incarnation, const control_peer& peer);
  void open_table(const control_sender& from, const policies::table_request& request,
                  reply_to reply);
  void tables_opened(const control_sender& from, const std::string& job, std::uint32_t rank,
                     const std::vector<std::uint32_t>& tables, reply_to reply);
  void progress(const control_sender& from, const std::string& job, std::uint32_t rank,
                const policies::worker_progress& report);
  void metric(const control_sender& from, const std::string& job, const std::string& metric,
              double value, reply_to reply);
  void finished(const control_sender& from, const std::string& job, std::uint32_t rank,
                const policies::worker_progress& last, const std::string& sha256,
                reply_to reply);
  void checkpoint_part(const control_sender& from, const policies::checkpoint_report& report);
  void unreachable(const control_sender& from, const std::string& reporter,
                   const std::vector<policies::unreachable_peer>& peers);
  // Messages of the launcher.
  void process_ended(const control_sender& from, const policies::process_name& name,
                     std::uint32_t incarnation, reply_to reply);
  void worker_leaves(const control_sender& from, const std::string& job, std::uint32_t rank,
                     reply_to reply);
  void scale(const control_sender& from, const std::string& job, std::uint32_t workers,
             reply_to reply);
  void scale_shards(const control_sender& from, std::uint32_t slots, reply_to reply);
  void want_last_checkpoint(const control_sender& from, const std::string& job, reply_to reply);
  void fail_job(const control_sender& from, const std::string& job, const std::string& why,
                reply_to reply);
  void status(const control_sender& from, std::uint64_t events_seen, reply_to reply);
  // Stops the members, and ends the coordinator.
  void stop(const control_sender& from, reply_to reply);

  // The port reports these.
  void call_answered(policies::call_id call, const call_answer& answer);
  // `broke`: the connection did, and the member may live; else it has ended, as `why` says.
  void connection_lost(std::uint64_t handle, bool broke, const std::string& why);
  void look();

  // Returns whether it may still have to do with the process behind this handle.
  bool knows(std::uint64_t handle) const;
  const policies::coordinator_core& core() const noexcept { return core_; }

 private:
  // What follows from an event: its records are durable before the rest is carried out, and
  // the rest of what came before it is.
  struct turn {
    policies::coordinator_effects effects;
    bool durable = false;
    // These peers get the effects. When they are carried out, another may have that place.
    std::vector<control_peer> callees;
    std::vector<control_peer> hosts;
    std::vector<control_peer> retiring;
    std::vector<control_peer> idle;
    reply_to reply;
    control_reply value;
  };
  // The place of a shard or aggregator: its job (empty: a shard), index, number in the shard's
  // group.
  using callee_place = std::tuple<std::string, std::uint32_t, std::uint32_t>;
  struct slot_process {
    std::uint32_t life = 0;
    control_peer peer = {};
    bool ended = false;  // the launcher says so
    std::optional<std::int64_t> absent_since = {};
  };
  struct listener {
    std::uint32_t incarnation = 0;
    control_peer peer;
  };

  // Returns ok for a process of this run whose place nobody has taken. refuses() answers any
  // other.
  runtime::status check(const control_sender& from) const;
  runtime::status check_token(const control_sender& from) const;
  static bool refuses(const runtime::status& checked, const reply_to& reply);
  policies::ticket wait(reply_to reply);

  // Turns, coordinator_turns.cpp.
  void carry_out(reply_to reply = {}, control_reply value = {});
  void gather(turn& next);
  void name_receivers(turn& next, const policies::coordinator_effects& added) const;
  void work();
  bool make_durable(turn& next);
  void on_written(const runtime::status& written);
  void perform(turn& done);
  bool is_gone(const callee_place& place) const;
  void deliver(policies::coordinator_effects::answer& answer);
  void tell(const policies::coordinator_effects::tell_moved& move);
  void end(const runtime::status& why);

  // Absences, coordinator_absences.cpp.
  void add(control_member joined);
  void keep_callee(const callee_place& place, const control_peer& peer);
  bool may_return(const control_member& member) const;
  void lose(const control_member& member, const std::string& why);
  void lose(policies::shard_slots::process slot, slot_process& known);
  void host_ended(policies::shard_slots::process slot, std::uint32_t life);
  void look_soon();

  control_port& port_;
  coordinator_storage& storage_;
  policies::coordinator_core core_;
  policies::coordinator_effects effects_;
  std::uint64_t token_;
  std::uint32_t shards_;
  bool moves_shards_;
  std::int64_t absent_most_ns_;  // until a member that has no connection counts as dead
  std::deque<turn> turns_;       // that are not carried out yet, in their order
  bool works_ = false;           // on the first of them
  bool asks_journal_ = false;    // to write its records, and the journal has not returned
  bool looks_ = false;           // a look is on its way
  bool has_ended_ = false;

  control_members members_;
  std::map<callee_place, control_peer> callees_;
  std::map<std::pair<std::string, std::uint32_t>, listener> listeners_;  // by job and rank
  std::map<policies::shard_slots::process, slot_process> hosts_;         // the latest of each
  std::map<std::uint64_t, runtime::status> put_out_;  // processes, and what they are told
  policies::ticket last_ticket_ = 0;
  std::map<policies::ticket, reply_to> waiting_;
};

}  // namespace tidegate::actors
