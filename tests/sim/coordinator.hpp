// A simulated coordinator process; see actors/coordinator. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "policies/checkpoint_catalog.hpp"
#include "policies/checkpoint_writer.hpp"
#include "policies/coordinator_core.hpp"
#include "tests/sim/process.hpp"

namespace tidegate::sim {

class coordinator_process final : public frameless_process {
 public:
  // `life`: counts the processes of the run, from 1.
  coordinator_process(world& where, process_id id, std::uint32_t epoch, std::uint32_t life);

  void start() override;

  void shard_joined(std::uint32_t index, policies::group_member in_group,
                    const std::string& address, process_id who, answer_to reply);
  void aggregator_joined(const std::string& job, std::uint32_t index, std::uint32_t incarnation,
                         const std::string& address, process_id who, answer_to reply);
  void worker_joined(const policies::worker_hello& hello, process_id who, answer_to reply);
  void tell_of_moves(const policies::worker_hello& worker, process_id who, answer_to reply);
  void open_table(const policies::table_request& request, answer_to reply);
  void tables_opened(const std::string& job, std::uint32_t rank,
                     const std::vector<std::uint32_t>& tables, answer_to reply);
  void finished(const std::string& job, std::uint32_t rank,
                const policies::worker_progress& last, const std::string& digest,
                answer_to reply);
  void scale(const std::string& job, std::uint32_t workers, answer_to reply);
  void scale_shards(std::uint32_t slots, answer_to reply);
  void host_joined(policies::shard_slots::process which, std::uint32_t life,
                   const std::vector<policies::hosted_member>& has, process_id who,
                   answer_to reply);
  void member_gone(const policies::hosted_member& which);
  void worker_leaves(const std::string& job, std::uint32_t rank, answer_to reply);
  void fail_job(const std::string& job, const std::string& why, answer_to reply);
  void progress(const std::string& job, std::uint32_t rank, std::uint64_t clock);
  void part(const policies::checkpoint_report& report);
  void status(answer_to reply);
  void unreachable(const std::string& reporter,
                   const std::vector<policies::unreachable_peer>& peers);
  // Tells the shards, and goes.
  void stop();

 private:
  struct member {
    std::string job;
    std::uint32_t index = 0;
    bool aggregates = false;
    bool works = false;
    std::uint32_t in_group = 0;
  };

  void peer_lost(process_id peer) override;

  // Checkpoints, by job.
  struct keeper {
    std::unique_ptr<disk_view> folder;
    std::unique_ptr<policies::checkpoint_catalog> catalog;
    policies::checkpoint_id begun;
  };
  // What a process before this one has left; a journal is never wrong here.
  policies::recorded_cluster recorded();
  policies::restored_cluster restored(bool goes_on);
  void begin_checkpoint(const std::string& job);
  void write_manifest(const policies::coordinator_effects::write_manifest& what);
  void step(const std::shared_ptr<policies::file_writer>& writer,
            const policies::coordinator_effects::write_manifest& what);

  bool all_done() const;
  policies::ticket wait(answer_to reply);
  // What becomes of one event: its records are durable before the rest is carried out, and the
  // rest of what came before it is.
  struct turn {
    policies::coordinator_effects effects;
    std::vector<std::function<void()>> replies;
    std::vector<process_id> callees;  // of effects.calls
    std::vector<process_id> hosts;    // likewise of hosts, of the idle, of retirements
    std::vector<process_id> idle;
    std::vector<process_id> retiring;
  };
  void carry_out(std::function<void()> reply = {});
  void name_callees(turn& made, const policies::coordinator_effects& more) const;
  void tell_slots(const turn& what);
  bool host_lost(process_id peer);
  void write_next();
  void write(const turn& what);
  void perform(turn& what);
  void call(process_id whom, const policies::coordinator_effects::call_shard& what);

  std::uint32_t epoch_;
  std::deque<turn> unwritten_;  // the first is being written
  std::map<std::string, keeper> keepers_;
  policies::coordinator_core core_;
  policies::coordinator_effects effects_;
  std::map<policies::ticket, answer_to> waiting_;
  policies::ticket last_ticket_ = 0;
  void tell(const policies::coordinator_effects::tell_moved& what);

  // By job (empty: shards), index, place in the group.
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, process_id> shards_;
  // Workers that hear of moves, by job and rank: the latest incarnation.
  std::map<std::pair<std::string, std::uint32_t>, std::pair<std::uint32_t, process_id>> told_;
  std::map<process_id, member> members_;
  // Of slots: the latest, and in which life.
  std::map<policies::shard_slots::process, std::pair<std::uint32_t, process_id>> hosts_;
};

}  // namespace tidegate::sim
