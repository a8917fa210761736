// The shell of a coordinator: carries out what policies::coordinator_core decides. It hands
// each message to the core, and each of the core's effects to the port and to the part that
// owns what it is about: turn_queue writes the journal before anybody hears of a decision,
// member_watch judges those whose connection broke, call_receivers and pending_replies know who
// is to hear what. A CAF actor is one adapter, a simulated process another. One thread, its
// port's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/coordinator/call_receivers.hpp"
#include "actors/coordinator/control_port.hpp"
#include "actors/coordinator/member_watch.hpp"
#include "actors/coordinator/pending_replies.hpp"
#include "actors/coordinator/sender_check.hpp"
#include "actors/coordinator/turn_queue.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::actors {

class coordinator_shell final : private member_watch::owner, private turn_queue::owner {
 public:
  // `before`: what the journal holds. `incarnation`: counts the coordinators of the run,
  // from 1.
  coordinator_shell(const policies::cluster_spec& cluster, std::uint64_t token,
                    control_port& port, coordinator_storage& storage,
                    policies::recorded_cluster before, std::uint32_t incarnation);

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
  void host_joined(const control_sender& from, policies::shard_map::process slot,
                   std::uint32_t incarnation, const std::vector<policies::hosted_member>& has,
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
  void arrivals(const control_sender& from, const std::string& reporter,
                const policies::shard_report& report);
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
  // Answers a process that is not listened to. Returns true if it is not.
  static bool refuses(const runtime::status& checked, const reply_to& reply);
  // Returns the answer to whoever asks a coordinator that has ended.
  static runtime::status ended();
  // A member that the core has taken in: those that had its place are heard no more.
  void add(control_member joined);

  // Carries out what the core has added to effects_ (coordinator_effects.cpp), then replies.
  void carry_out(reply_to reply = {}, control_reply value = {});
  void gather(turn& next);
  void name_receivers(turn& next, const policies::coordinator_effects& added) const;
  void perform(turn& done) override;
  void write_manifests(const policies::coordinator_effects& effects);
  // Returns true if some callees have gone.
  bool make_calls(const turn& done);
  bool is_gone(const callee_place& place) const;

  void end(const runtime::status& why);
  void journal_failed(const runtime::status& why) override;

  void member_lost(const control_member& member, const std::string& why) override;
  void host_lost(policies::shard_map::process slot, std::uint32_t incarnation) override;
  void out_of_reach(const control_member& member) override;
  void out_of_reach(policies::shard_map::process slot, std::uint32_t incarnation) override;

  control_port& port_;
  coordinator_storage& storage_;
  policies::coordinator_core core_;
  policies::coordinator_effects effects_;  // of the event that is being handled
  sender_check senders_;
  member_watch watch_;
  call_receivers receivers_;
  pending_replies replies_;
  turn_queue turns_;
};

}  // namespace tidegate::actors
