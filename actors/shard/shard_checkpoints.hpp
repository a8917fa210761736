// The checkpoints of a shard's jobs: those that tables are restored from, and this shard's part
// of those that are being taken, until its file is written. The shard's shell says when a job
// or a table is opened and when the core cuts; the port says when a file is written. One
// thread, the home's; restoring blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "actors/seam/shell_home.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/shard/shard_port.hpp"
#include "policies/checkpoint/restore_source.hpp"
#include "policies/checkpoint/shard_part.hpp"
#include "policies/shard/core.hpp"

namespace tidegate::actors {

class shard_checkpoints {
 public:
  using effects = policies::shard_effects;

  // `index`: of the shard, as files name it.
  shard_checkpoints(shell_home& home, shard_memory& memory, shard_port& port,
                    policies::shard_core& shard, std::uint32_t index)
      : home_(home), memory_(memory), port_(port), shard_(shard), index_(index) {}

  // Before all else that is said of the job.
  void open_job(std::uint64_t token, const std::string& name) { jobs_[token].name = name; }
  // Restores a chunk of a table, which was just made. Errors: those of port, storage and
  // memory.
  runtime::expected<shard_memory::chunk_progress> restore(const policies::open_table_call& call,
                                                          const policies::owned_chunk& chunk);
  // All chunks of a table are as they were.
  void table_restored(std::uint64_t token) { jobs_.at(token).restores.table_read(); }
  // No more tables are restored.
  void workers_come(std::uint64_t token);

  // The job has ended.
  void close_job(std::uint64_t token);
  // A part of so many chunks is to be taken. Returns false if the last is being written.
  bool begin(const policies::checkpoint_call& call, std::size_t chunks);
  // A chunk has come to the cut. When all have, the port is asked to write the file.
  void snapshot(const effects::snapshot& step, const policies::shard_core::cut_state& state);
  // Work of the memory has ended, which copies may have waited for.
  void work_ended();
  // shard_port::write_part() has ended; `failure` says why if it failed. Tells the coordinator.
  void part_written(std::uint64_t token, const policies::written_file& file,
                    const std::string& failure);
  // Returns the checkpoint whose part is being taken or written, or was last.
  policies::checkpoint_id under_way(std::uint64_t token) const { return jobs_.at(token).taken; }

 private:
  struct job_files {
    std::string name;
    policies::restore_source restores;  // open until workers come in
    policies::shard_part part;
    // Its part is whole when this piece of the memory's work has ended; 0: it is not full yet.
    std::uint64_t whole_after = 0;
    policies::checkpoint_id taken;  // whose part is being taken, or was last
    policies::checkpoint_id base;   // of that
    std::int64_t writes_since = 0;  // its file, by the home's clock
    // The last copies of parts of tables of rows, by slot: for which checkpoint, and the latest
    // clock of steps in them.
    struct row_cut {
      policies::checkpoint_id id;
      std::uint64_t clock = 0;
    };
    std::map<std::uint32_t, row_cut> cuts;
    bool is_closed = false;
  };

  void describe_change(std::uint32_t slot, job_files& job, policies::chunk_description& about);
  void part_full(std::uint64_t token, job_files& job);
  void write_part(std::uint64_t token);

  shell_home& home_;
  shard_memory& memory_;
  shard_port& port_;
  policies::shard_core& shard_;
  std::uint32_t index_;
  std::map<std::uint64_t, job_files> jobs_;  // by token
};

}  // namespace tidegate::actors
