// A simulated shard process: its shell (actors/shard), its memory (shard_memory.cpp) and disk,
// and what the checker hears of its chain (shard_chain.cpp). One thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "actors/shard/shard_shell.hpp"
#include "launch/simulate/cluster/front.hpp"
#include "policies/placement/shard_slots.hpp"

namespace tidegate::sim {

class shard_process final : public shell_process<actors::shard_shell>,
                            private actors::shard_memory,
                            private actors::shard_port {
 public:
  // `member`: of the shard's group. `of`: the process that it is a part of.
  shard_process(world& where, process_id id, std::uint32_t host, std::uint32_t index,
                policies::group_member member, const std::string& of = "");

  void stop(bool rests) override;
  runtime::status open_job(const policies::open_job_call& call) override;
  answer checkpoint(const policies::checkpoint_call& call) override;
  void lead(const policies::lead_call& call, const answer_to& reply) override;
  void follow(const policies::follow_call& call) override;
  void promote(const policies::promote_call& call) override;

 private:
  using effects = policies::shard_effects;
  using inputs = std::span<const effects::input>;
  struct job_options {
    bool is_bsp = false;
    std::map<std::uint64_t, std::uint64_t> cut_clocks;  // of checkpoints, by number
    std::unique_ptr<disk_view> folder;
  };
  struct chunk_state {
    runtime::kernels::optimizer optimizer;
    runtime::kernels::beta_powers powers;
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    std::uint64_t job = 0;
    std::vector<float> state1, state2;
    policies::chunk_description about;
  };

  actors::shard_shell& shell() override { return shell_; }
  void ask_to_join(process_id coordinator, answer_to back) override;
  void check_behind(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const override;
  bool waits_for_replica() const override { return shell_.replication().waits(); }
  void put_out_behind(process_id id) const;
  process_id serves_since(std::uint64_t epoch);
  std::set<process_id> put_out_before(process_id served);

  // Memory.
  actors::ingress_memory& ingress() noexcept override { return memory_; }
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            const actors::store_options& options) override;
  void note_opened(const policies::open_table_call& table, std::uint32_t slot);
  runtime::status restore(const policies::checkpoint_reader& from, std::size_t table,
                          runtime::storage& folder,
                          std::span<const policies::owned_chunk> chunks,
                          policies::shard_core& core) override;
  image image_of(std::uint32_t slot, std::uint32_t plane) override;
  void apply(const effects::apply& step, inputs from) override;
  std::span<const std::byte> payload_bytes(policies::payload_handle handle) const override;
  std::span<const float> gradient(std::uint32_t slot,
                                  policies::payload_handle handle) const override;
  std::span<const float> sum_of(std::uint32_t slot, std::uint64_t clock) const override;
  void keep_sum(std::uint32_t slot, std::uint64_t clock,
                policies::payload_handle gradient) override;
  std::vector<float> seed_of(const effects::seed& chunk,
                             const policies::shard_core::seed_state& state) override;
  std::uint64_t seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const override;
  runtime::buffer lease_seed(std::size_t bytes) override {
    return is_short_of_memory() ? runtime::buffer() : memory_.lease_any(bytes);
  }
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t slot,
                                                    std::span<const std::byte> bytes) override;
  lent_place place_of_sums(std::uint32_t table) const override;
  runtime::status map_sums(std::uint32_t table, std::uint64_t bytes,
                           std::span<const std::byte> place) override;
  void forget_sums() override { lent_.reset(); }
  policies::payload_handle sum_in_place(std::uint32_t slot, std::uint32_t plane) override;
  std::span<float> sum_room(std::uint32_t slot, std::uint64_t clock) const;

  // What its shell asks of the process.
  runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) override;
  void write_part(std::uint64_t token, const std::string& job,
                  policies::file_writer file) override;
  void step(std::uint64_t token, const std::shared_ptr<policies::file_writer>& writer);
  void report(const policies::checkpoint_report& part) override;
  void give_way(bool) override {}
  void leave() override;

  std::uint32_t index_;
  policies::group_member member_;
  bool follows_ = false;
  process_id primary_ = 0;  // whom it follows, or has followed last
  process_id replica_ = 0;  // whom it leads
  std::uint32_t led_view_ = 0;
  // By table, chunk and plane; whoever has mapped them keeps them.
  using sums = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, region>;
  std::shared_ptr<sums> sums_ = std::make_shared<sums>();
  std::shared_ptr<sums> lent_;  // of the primary
  std::map<std::uint64_t, job_options> jobs_;
  std::vector<chunk_state> chunks_;     // by slot
  mutable std::vector<float> missing_;  // in place of a payload that was given back
  actors::shard_shell shell_;
};

}  // namespace tidegate::sim
