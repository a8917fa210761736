// The jobs, tables and chunks that a shard core has: it finds them, says which frames may come
// in, and tells what is here. Slots of chunks are given once and never again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policies/model/spec.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

struct job_options {
  std::uint64_t epoch = 0;
  std::uint32_t workers = 0;  // ranks are below
  consistency_spec consistency;
  // Under bsp the version before the current one is kept, for a worker that comes back: it may
  // have pushed a clock to some chunks, and needs that clock's version of all.
  bool workers_come_back = false;
  std::span<const std::uint32_t> members;  // the ranks that push here, ascending; empty: all
  // Shards have replicas, which may be two versions behind: for workers that come back two are
  // kept.
  bool replicated = false;
  std::uint32_t contributors = 0;  // workers to begin with; 0: all ranks
  bool clips_by_norm = false;      // bsp alone
};

class chunk_registry {
 public:
  explicit chunk_registry(shard_state& state) : state_(state) {}

  // Opening a job again changes nothing. `relay_parts`: in so many sums an aggregator hands a
  // clock on; 0 at a shard.
  void open_job(std::uint64_t token, const job_options& options, std::size_t relay_parts);
  // Returns the table, which is new or as it was. The job is open.
  table_record& open_table(std::uint64_t token, std::uint32_t table);
  // Returns the slot of that chunk; `is_new` says whether it was given just now, without a
  // policy so far.
  std::uint32_t add_chunk(std::uint32_t table, const chunk_place& place, bool& is_new);
  // The table is as if it had never been opened, and its slots mean nothing any more.
  void remove_table(std::uint32_t table);

  // The record must be there.
  job_record& job(std::uint64_t token) { return jobs_.at(token); }
  table_record& table(std::uint32_t id) { return tables_.at(id); }
  chunk_record& chunk(std::uint32_t slot) { return chunks_[slot]; }
  // Return null if there is no such job, or the job has no such rank.
  job_record* find_job(std::uint64_t token);
  job_record* find_job(std::uint64_t token, std::uint32_t rank);

  // Return ok if frames of this process, or of this table, may come in, else why not.
  reply_code check_worker(const frame_tag& tag) const;
  reply_code check_table(const frame_tag& tag) const;
  // Sets `slot` to the chunk's if it returns ok.
  reply_code find_chunk(const frame_tag& tag, std::uint32_t& slot) const;

  bool has_table(std::uint64_t token, std::uint32_t table) const;
  // Returns the slots of a table's chunks by index, none if the table is unknown; valid until
  // another chunk of it is opened.
  std::span<const std::uint32_t> slots_of(std::uint32_t table) const;
  std::optional<std::uint32_t> find_slot(std::uint64_t token, std::uint32_t table,
                                         std::uint32_t chunk) const;
  // Returns true if the table is one of rows; false for an unknown one.
  bool has_rows(std::uint32_t table) const;
  // Returns the place of a chunk among those of its table that are here.
  std::uint32_t index_of(std::uint32_t slot) const { return chunks_[slot].index; }
  // Returns the job, table and chunk of a slot.
  frame_tag name_of(std::uint32_t slot) const;
  // Returns the tag of an answer to a rank. `base`: of the frame that led to it, or base_of().
  frame_tag tag_of(const chunk_record& chunk, std::uint32_t rank, std::uint64_t clock,
                   const frame_tag& base) const;
  static frame_tag base_of(const chunk_record& chunk);

  // Returns the tokens of jobs that are open, or of those that have ended, too.
  std::vector<std::uint64_t> open_jobs() const;
  std::vector<std::uint64_t> all_jobs() const;
  std::vector<std::uint32_t> tables_of(std::uint64_t token) const;
  // Calls call(table) for each table of a job, ascending.
  template <class Call>
  void for_each_table(std::uint64_t token, const Call& call) const {
    for (const auto& [id, table] : tables_)
      if (table.job->token == token) call(id);
  }
  // Returns the epoch of the frames of a job; 0 for an unknown job and at a replica.
  std::uint64_t epoch_of(std::uint64_t token) const;
  bool is_closed(std::uint64_t token) const;
  std::vector<std::uint32_t> finished_ranks(std::uint64_t token) const;
  // Returns true if no member of the job will push here any more.
  bool all_finished(std::uint64_t token) const;
  // Returns the first clock of the rank's present stay, 0 for an unknown job or rank.
  std::uint64_t first_clock(std::uint64_t token, std::uint32_t rank) const;
  std::size_t chunks() const noexcept { return chunks_.size(); }  // slots so far
  // Returns the version buffer of a chunk's current version.
  std::uint32_t version_buffer_of(std::uint32_t slot) const {
    return chunks_[slot].versions.version_buffer();
  }
  // Returns true if anybody may read that version buffer once all that has been decided is
  // carried out.
  bool is_read(std::uint32_t slot, std::uint32_t version_buffer) const {
    return chunks_[slot].versions.is_read(version_buffer);
  }

 private:
  shard_state& state_;
  std::map<std::uint64_t, job_record> jobs_;      // by token
  std::map<std::uint32_t, table_record> tables_;  // by id
  std::vector<chunk_record> chunks_;              // by slot
};

}  // namespace tidegate::policies::sharding
