// A simulated coordinator process: the shell of actors/coordinator, on the simulated network
// and a journal that takes its time. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/coordinator/coordinator_shell.hpp"
#include "launch/simulate/cluster/coordinator_disk.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

class coordinator_process final : public frameless_process, private actors::control_port {
 public:
  // `incarnation`: counts the processes of the run, from 1.
  coordinator_process(world& where, process_id id, std::uint32_t epoch,
                      std::uint32_t incarnation);

  void start() override;

  // What others ask, as CAF's messages; current_asker() is who does.
  void shard_joined(std::uint32_t index, policies::group_member in_group,
                    const std::string& address, process_id member, answer_to reply);
  void aggregator_joined(const std::string& job, std::uint32_t index, std::uint32_t incarnation,
                         const std::string& address, process_id member, answer_to reply);
  void worker_joined(const policies::worker_hello& hello, process_id member, answer_to reply);
  void tell_of_moves(const policies::worker_hello& hello, process_id member,
                     const answer_to& reply);
  void open_table(const policies::table_request& request, answer_to reply);
  void tables_opened(const std::string& job, std::uint32_t rank,
                     const std::vector<std::uint32_t>& tables, answer_to reply);
  void finished(const std::string& job, std::uint32_t rank,
                const policies::worker_progress& last, const std::string& digest,
                answer_to reply);
  void scale(const std::string& job, std::uint32_t workers, answer_to reply);
  void scale_shards(std::uint32_t slots, answer_to reply);
  void host_joined(policies::shard_map::process process, std::uint32_t incarnation,
                   const std::vector<policies::hosted_member>& has, process_id member,
                   answer_to reply);
  void member_gone(const policies::hosted_member& member);
  void process_ended(const policies::process_name& name, std::uint32_t incarnation,
                     answer_to reply);
  void worker_leaves(const std::string& job, std::uint32_t rank, answer_to reply);
  void fail_job(const std::string& job, const std::string& why, answer_to reply);
  void progress(const std::string& job, std::uint32_t rank,
                const policies::worker_progress& report);
  void part(const policies::checkpoint_report& report);
  void status(answer_to reply);
  void arrivals(const std::string& reporter, const policies::shard_report& report) {
    shell_.arrivals(from(), reporter, report);
  }
  void unreachable(const std::string& reporter,
                   const std::vector<policies::unreachable_peer>& peers);
  void stop();

  // Whether a part of this process is a member, as far as the network has told.
  bool has_member(process_id whole) const;
  // Returns true if the coordinator has heard that the worker of this name has finished.
  bool has_finished(const std::string& worker) const;
  // Who waits for whom, for the reader of a trace.
  void note_waits() const;

 private:
  actors::control_sender from() const;
  actors::control_peer peer(process_id member) const;
  static actors::reply_to to_reply(answer_to reply);
  bool all_done() const;

  void peer_lost(process_id lost) override;
  void control_broke(process_id lost, std::uint32_t number) override;

  // The shell's port.
  void log_error(const std::string& line) override { note(line); }
  std::int64_t unix_now() const override { return local_now(); }
  std::int64_t steady_now() const override { return local_now(); }
  void watch(const actors::control_peer& member) override;
  void call(const actors::control_peer& to, policies::call_id call,
            const policies::shard_call& content) override;
  void tell(const actors::control_peer& to, const policies::shard_moved& moved) override;
  void tell(const actors::control_peer& to, const policies::host_call& call) override;
  void stop(const actors::control_peer& member) override;
  void expel(const actors::control_peer& member, const runtime::status& why) override;
  bool may_live(const std::string& address) const override;
  void look_in(std::int64_t pause_ns) override;
  void end(const runtime::status& why) override;

  coordinator_disk disk_;
  std::map<std::uint64_t, process_id> watched_;  // by handle: whose process
  bool stops_ = false;
  actors::coordinator_shell shell_;
};

}  // namespace tidegate::sim
