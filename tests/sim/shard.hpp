// A simulated shard process; see actors/shard. One thread.
#pragma once

#include <map>

#include "policies/shard_core.hpp"
#include "policies/shard_part.hpp"
#include "tests/sim/front.hpp"

namespace tidegate::sim {

// Before the front in the order of construction, which wants it.
struct shard_base {
  policies::shard_core core_;
};

class shard_process final : private shard_base, public front_process {
 public:
  shard_process(world& where, process_id id, std::uint32_t host, std::uint32_t index)
      : front_process(where, id, role::shard, "shard-" + std::to_string(index), host, index,
                      core_) {}

  runtime::status open_job(const policies::open_job_call& call) override;
  runtime::status open_table(const policies::open_table_call& call) override;
  void close_job(std::uint64_t token) override;
  answer checkpoint(const policies::checkpoint_call& call) override;

 private:
  void ask_to_join(process_id coordinator, answer_to back) override;
  struct job_options {
    float scale = 1;
    std::uint32_t members = 1;
    bool known = false;
    std::string name;
    std::unique_ptr<disk_view> folder;
    policies::shard_part part;
  };
  struct chunk_state {
    runtime::kernels::optimizer how;
    runtime::kernels::adam_powers powers;
    float scale = 1;
    std::uint64_t job = 0;
    std::vector<float> state1, state2;
    policies::chunk_description about;
  };

  void apply(const effects::apply& what, inputs from) override;
  void hand_on(const effects::hand_on&, inputs) override;
  void ask(const effects::ask&) override;
  void snapshot(const effects::snapshot& what,
                const policies::shard_core::cut_state& state) override;
  runtime::status restore(const policies::open_table_call& call,
                          const std::vector<policies::owned_chunk>& chunks);
  void write_part(std::uint64_t token);
  void step(std::uint64_t token, const std::shared_ptr<policies::file_writer>& writer);

  std::map<std::uint64_t, job_options> jobs_;
  std::vector<chunk_state> chunks_;  // by slot
};

}  // namespace tidegate::sim
