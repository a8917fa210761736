// The shard as a CAF actor on a reactor: hands on to its shell what its mailbox and its link
// bring (actors/shard/shard_shell.hpp), and writes parts of checkpoints on threads.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/chunks/shard_store.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/control/member_reports.hpp"
#include "actors/control/messages.hpp"
#include "actors/environment/node_options.hpp"
#include "actors/reactor/frame_mailbox.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "actors/shard/shard_shell.hpp"
#include "actors/store/part_writer.hpp"

namespace tidegate::actors {

// Where a shard's checkpoints are, and who hears of them, only used when a job has any; and
// where rows are that do not fit their memory.
struct shard_keeping {
  std::map<std::string, std::string> checkpoint_folders;  // by job
  std::chrono::milliseconds disk_delay{0};                // added to each file
  std::string rows_dir;                                   // as node_options
  std::shared_ptr<coordinator_locator> coordinator;
  std::uint64_t token = 0;  // of the run
  device_options device;
};

class shard final : public reactor_actor<shard_actor::base>, private shard_port {
 public:
  shard(caf::actor_config& config, reactor& home, std::uint32_t index, shard_keeping where = {})
      : reactor_actor<shard_actor::base>(config, home),
        index_(index),
        keeping_(std::move(where)) {}

  const char* name() const override { return "tidegate.shard"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  // Makes a call in the shell's order, and answers with what it returns.
  template <class Value, class Work>
  caf::result<Value> in_order(Work work);
  caf::result<done_atom> open_job(const policies::open_job_call& call);
  caf::result<done_atom> open_table(const policies::open_table_call& call);
  caf::result<std::uint64_t> admit(const policies::admit_worker_call& call);
  caf::result<chunk_clocks> sum_progress(const policies::sum_progress_call& call);
  caf::result<std::uint64_t> shut_out(const policies::shut_out_call& call);
  caf::result<std::uint64_t> hold(const policies::join_barrier_call& call);
  caf::result<done_atom> change_membership(const policies::membership_call& call);
  void log_accounts() const;
  caf::result<done_atom> close_job(const policies::close_job_call& call);
  caf::result<std::uint64_t> checkpoint(const policies::checkpoint_call& call);
  caf::result<done_atom> lead(const policies::lead_call& call);
  caf::result<done_atom> follow(const policies::follow_call& call);
  caf::result<done_atom> promote(const policies::promote_call& call);

  runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) override;
  void write_part(std::uint64_t token, const std::string& job,
                  policies::file_writer file) override;
  void report(const policies::checkpoint_report& part) override;
  void give_way(bool yes) override;
  void leave() override;
  void give_up(const runtime::status& why) override;
  runtime::status open_store();
  std::string folder_of(const std::string& job) const;

  void report_unreachable(const unreachable_peers& peers) override {
    report_outages(keeping_.coordinator, keeping_.token, home().address(), peers);
  }

  void report_arrivals(const policies::shard_report& report) override {
    tell_arrivals(keeping_.coordinator, keeping_.token, home().address(), report);
  }

  std::uint32_t index_;
  shard_keeping keeping_;
  std::unique_ptr<shard_store> store_;
  std::optional<shard_shell> shell_;
  std::unique_ptr<frame_mailbox> sink_;
  std::map<std::uint64_t, part_writer> writers_;  // by token; end before what they read
};

}  // namespace tidegate::actors
