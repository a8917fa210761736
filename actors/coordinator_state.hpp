// What the coordinator actor has and does; its functions are in coordinator.cpp, what it hears
// in coordinator_behavior.cpp. One actor: one thread at a time.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/checkpoint_keeper.hpp"
#include "actors/errors.hpp"
#include "actors/journal_keeper.hpp"
#include "actors/messages.hpp"
#include "policies/coordinator_core.hpp"
#include "policies/millisecond.hpp"
#include "policies/process_name.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

using runtime::unix_now;

class coordinator final : public coordinator_actor::base {
 public:
  coordinator(caf::actor_config& config, const policies::cluster_spec& cluster,
              std::uint64_t token, std::shared_ptr<checkpoint_keeper> keeper,
              std::shared_ptr<kept_journal> journal, std::uint32_t life)
      : coordinator_actor::base(config),
        keeper_(std::move(keeper)),
        journal_(std::move(journal)),
        core_(cluster, token, keeper_->found(), std::move(journal_->before), life),
        token_(token),
        shard_count_(cluster.shards),
        unreachable_ns_(cluster.supervision.unreachable_ms * policies::millisecond / 2) {
    for (const auto& job : cluster.jobs)
      if (job.checkpoint) keeper_->begin_after(job.name, core_.last_checkpoint(job.name));
  }
  // A promise that nobody delivers leaves its requester waiting: tell them.
  ~coordinator() override { refuse_all(); }

  const char* name() const override { return "tidegate.coordinator"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override { refuse_all(); }

 private:
  struct member {
    std::string job;          // empty: a shard
    std::uint32_t index = 0;  // of the shard or aggregator, or rank
    bool aggregates = false;
    std::uint32_t in_group = 0;  // of a shard
    bool is_shard = false;
    std::uint32_t incarnation = 0;
    std::string address = {};    // of frames
    bool ended = false;          // the launcher says so
    std::int64_t cut_since = 0;  // its control connection broke then; 0: it has one
  };
  using member_entry = std::map<caf::actor_addr, member>::iterator;
  template <class T>
  using promises = std::map<policies::ticket, caf::typed_response_promise<T>>;

  void begin();
  bool of_run(std::uint64_t token) const { return token == token_; }
  // Whether a message is of a process of this run whose place nobody has taken; stranger() is
  // the answer to another.
  bool known(std::uint64_t token) { return of_run(token) && !is_out(); }
  // What only such a process may say: what it comes to, or stranger().
  template <class What>
  auto heard(std::uint64_t token, const What& what) -> decltype(what()) {
    if (!known(token)) return stranger();
    return what();
  }
  bool is_out();
  caf::error stranger();
  template <class T>
  std::pair<policies::ticket, caf::typed_response_promise<T>> promise(promises<T>& waiting) {
    auto made = make_response_promise<T>();
    waiting.emplace(++last_ticket_, made);
    return {last_ticket_, made};
  }
  template <class T>
  bool deliver(promises<T>& waiting, policies::coordinator_effects::answer& answer);

  caf::result<done_atom> join_shard(std::uint32_t index, policies::group_member in_group,
                                    const std::string& address, const caf::actor& who);
  // From now on; at once of those that have been.
  void tell_of_moves(const std::string& job, std::uint32_t rank, std::uint32_t incarnation,
                     const caf::actor& who);
  void tell_moved(const policies::coordinator_effects::tell_moved& what);
  caf::result<done_atom> join_host(std::uint64_t token, policies::shard_slots::process which,
                                   std::uint32_t life, const hosted_members& has,
                                   const caf::actor& who);
  void member_gone(std::uint64_t token, const policies::hosted_member& which);
  caf::result<done_atom> scale_shards(std::uint64_t token, std::uint32_t slots);
  caf::result<done_atom> save(std::uint64_t token, const std::string& job);
  void tell_slots(const policies::coordinator_effects& effects);
  caf::result<done_atom> join_aggregator(const std::string& job, std::uint32_t index,
                                         std::uint32_t incarnation, const std::string& address,
                                         const caf::actor& who);
  caf::result<policies::worker_welcome> join_worker(const policies::worker_hello& hello,
                                                    const caf::actor& who);
  caf::result<policies::table_grant> open_table(const policies::table_request& asked);
  caf::result<done_atom> take_tables(const std::string& job, std::uint32_t rank,
                                     const std::vector<std::uint32_t>& tables);
  caf::result<done_atom> take_metric(const std::string& job, const std::string& metric,
                                     double value);
  void take_progress(const std::string& job, std::uint32_t rank,
                     const policies::worker_progress& report);
  caf::result<grants> take_finished(const std::string& job, std::uint32_t rank,
                                    const policies::worker_progress& last,
                                    const std::string& sha256);
  caf::result<done_atom> scale(std::uint64_t token, const std::string& job,
                               std::uint32_t workers);
  caf::result<done_atom> let_leave(std::uint64_t token, const std::string& job,
                                   std::uint32_t rank);
  void take_part(const policies::checkpoint_report& report);
  caf::result<done_atom> fail_job(const std::string& job, const std::string& why);
  caf::result<done_atom> stop();
  caf::result<policies::cluster_status> status(std::uint64_t token, std::uint64_t seen);
  void on_down(const caf::down_msg& down);
  // Connections to members that broke, coordinator_absences.cpp.
  bool may_return(const member& lost) const;
  void lose(member_entry lost, const std::string& why);
  // `role`: as in policies::process_role; that of `name` is not read.
  caf::result<done_atom> process_ended(std::uint64_t token, std::uint32_t role,
                                       policies::process_name name, std::uint32_t incarnation);
  bool is_named(const member& known, const policies::process_name& name) const;
  void unreachable(std::uint64_t token, const std::string& reporter,
                   const unreachable_peers& peers);
  void look();
  void look_soon();

  void watch(const caf::actor& who, member what);
  void put_out(const policies::worker_hello& successor);
  void carry_out();
  // False: it cannot be kept, and nobody may hear of what has been decided.
  bool keep(const std::vector<policies::coordinator_record>& records);
  caf::result<done_atom> done() const;  // what was asked is; or cannot be
  void call_shard(policies::coordinator_effects::call_shard& what);
  void refuse_all();

  std::shared_ptr<checkpoint_keeper> keeper_;
  std::shared_ptr<kept_journal> journal_;
  bool has_ended_ = false;  // its journal cannot be written
  policies::coordinator_core core_;
  policies::coordinator_effects effects_;
  std::uint64_t token_;
  std::uint32_t shard_count_;
  std::int64_t unreachable_ns_;  // until a member that has no connection counts as dead
  bool looks_ = false;
  // Job of an aggregator, or empty; index; number in a shard's group.
  using shard_name = std::tuple<std::string, std::uint32_t, std::uint32_t>;
  std::map<shard_name, shard_actor> shards_;
  // Workers that hear of moves, by job and rank: the latest incarnation.
  std::map<std::pair<std::string, std::uint32_t>, std::pair<std::uint32_t, caf::actor>> told_;
  std::map<caf::actor_addr, member> members_;
  // Of slots: the latest, in which life.
  struct slot_process {
    std::uint32_t life = 0;
    shard_host_actor who;
  };
  std::map<policies::shard_slots::process, slot_process> hosts_;
  std::map<caf::node_id, runtime::status>
      out_;  // processes whose place is taken, and what they are told
  policies::ticket last_ticket_ = 0;
  promises<done_atom> shard_promises_;
  promises<policies::worker_welcome> worker_promises_;
  promises<policies::table_grant> table_promises_;
};

}  // namespace tidegate::actors
