// A simulated shard process: its shell (actors/shard), its memory and disk, and what the
// checker hears of its chain (shard_chain.cpp). One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "actors/shard/shard_shell.hpp"
#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/shard_memory.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::sim {

class shard_process final : public shell_process<actors::shard_shell>,
                            private actors::shard_port {
 public:
  // `member`: of the shard's group. `of`: the process that it is a part of.
  shard_process(world& where, process_id id, std::uint32_t host, std::uint32_t index,
                policies::group_member member, const std::string& of = "");

  void stop(bool rests) override;
  void in_order(const std::function<void()>& call) override { shell_.in_order(call); }
  runtime::status open_job(const policies::open_job_call& call) override;
  void open_table(const policies::open_table_call& call, const answer_to& reply) override {
    shell_.open_table(call, [reply](const runtime::status& opened) { reply({opened, {}}); });
  }
  answer checkpoint(const policies::checkpoint_call& call) override;
  void lead(const policies::lead_call& call, const answer_to& reply) override;
  void follow(const policies::follow_call& call) override;
  void promote(const policies::promote_call& call) override;

  const shard_memory& store() const noexcept { return store_; }

 private:
  actors::shard_shell& shell() override { return shell_; }
  void ask_to_join(process_id coordinator, answer_to back) override;
  void check_shown(std::uint32_t slot, std::uint32_t version_buffer, bool on_device) override {
    store_.check_shown(slot, version_buffer, on_device);
  }
  void check_behind(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const override;
  bool waits_for_replica() const override { return shell_.replication().waits(); }
  void put_out_behind(process_id id) const;
  process_id serves_since(std::uint64_t epoch);
  std::set<process_id> put_out_before(process_id served);

  // What its shell asks of the process.
  runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) override;
  void write_part(std::uint64_t token, const std::string& job,
                  policies::file_writer file) override;
  void step(std::uint64_t token, const std::shared_ptr<policies::file_writer>& writer);
  void report(const policies::checkpoint_report& part) override;
  void give_way(bool) override {}
  void leave() override;
  void give_up(const runtime::status& why) override;

  std::uint32_t index_;
  policies::group_member member_;
  process_id primary_ = 0;  // whom it follows, or has followed last
  process_id replica_ = 0;  // whom it leads
  std::uint32_t led_view_ = 0;
  std::map<std::uint64_t, std::unique_ptr<disk_view>> folders_;  // of jobs, by token
  shard_memory store_;
  actors::shard_shell shell_;
};

}  // namespace tidegate::sim
