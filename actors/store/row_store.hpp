// The parts of tables of rows that a shard has: what each is (runtime/parts), the batches and
// requests of rows that arrive, and the answers that leave. Holds no CAF; one thread, the
// home's. Once warm, a step and an answer allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/seam/late_answer.hpp"
#include "actors/store/row_intake.hpp"
#include "policies/checkpoint/reader.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/shard/chunk_seed.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/file_resource.hpp"
#include "runtime/parts/row_part.hpp"

namespace tidegate::actors {

class row_store {
 public:
  using effects = policies::shard_effects;

  explicit row_store(std::shared_ptr<runtime::memory_source> source)
      : payloads_(std::move(source)) {}

  // Where rows lie that do not fit the memory of their table; before such a table is added.
  void set_folder(std::string folder) {
    folder_ = std::move(folder);
    copies_ = std::make_unique<runtime::file_resource>(folder_);
  }

  // Where values and states lie with engines, if not with the parts: of tables that are added
  // later, but those that do not fit memory or that an engine cannot step. It outlives this.
  void set_engines(runtime::row_engines* engines) noexcept { engines_ = engines; }

  // Makes parts, without rows. `keeps`: versions before the current one that may be read.
  // Errors: invalid_argument (numbers that no table can have, or a folder where nothing would
  // be won), io_error (no address space, or no file).
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            policies::reduce_kind reduce, float clip_norm, std::uint32_t keeps);
  bool has(std::uint32_t slot) const { return parts_.contains(slot); }
  bool has_engine(std::uint32_t slot) const {
    return parts_.at(slot).rows.table().engine() != nullptr;
  }

  // A place for the batch or request of a frame, aligned to cache lines; empty if memory is
  // short.
  runtime::buffer lease(const runtime::frame_header& header, std::uint32_t slot);
  // Puts what this part takes in the place of what a frame has brought, where that is coded,
  // and looks whether it is a batch, or a request, for this part. Errors: corrupt, over_limit
  // (memory is short), not_found (a list of ids is named that is not kept).
  runtime::status take(const runtime::frame_header& header, std::uint32_t slot,
                       runtime::buffer& rows);

  // A batch of a rank, as it lies in memory, and was checked.
  struct input {
    std::uint32_t rank = 0;
    std::span<const std::byte> batch;
  };
  // Makes the step of these batches, which ascend in rank. Errors: over_limit (the part is
  // full), no_space (the disk or the device is), io_error (the disk), unavailable (the device
  // is lost).
  runtime::status apply(const effects::apply& step, std::span<const input> from);
  // The sum of the squares of the gradient of a step to come; 0 where no norm is asked for.
  double measure(const effects::measure& step, std::span<const input> from);
  std::span<const std::byte> sum_of(std::uint32_t slot, std::uint64_t clock) const {
    return parts_.at(slot).rows.sum_of(clock);
  }
  void keep_sum(std::uint32_t slot, std::uint64_t clock, std::span<const std::byte> batch) {
    parts_.at(slot).rows.keep_sum(clock, batch);
  }

  // A place for the answer to a request that was checked; empty if memory is short. And the
  // answer, which is written there and may be shorter.
  runtime::buffer lease_answer(std::uint32_t slot, std::span<const std::byte> request);
  row_answer answer(std::uint32_t slot, std::uint32_t version_buffer,
                    std::span<const std::byte> request, const runtime::buffer& into) const;
  // Bytes of the last batch: what a step of the part is likely to read.
  std::uint64_t bytes_of(std::uint32_t slot) const { return parts_.at(slot).batch_bytes; }

  // Puts how many rows the part has, and how large they are, into its description.
  void describe(std::uint32_t slot, policies::chunk_description& about) const;
  // Rows whose last push is of this clock or a later one.
  std::uint64_t rows_since(std::uint32_t slot, std::uint64_t clock) const;
  // Where copies of the part are kept: those of a table that does not fit memory would not.
  std::pmr::memory_resource* memory_of_copies(std::uint32_t slot) const {
    if (parts_.at(slot).rows.table().lies_in_file()) return copies_.get();
    return std::pmr::get_default_resource();
  }
  // Copies array `i` of a checkpoint of the part, which this is the description of
  // (policies/checkpoint/image.hpp), as it is after the last step. `keeps` owns the memory that
  // it is copied to, as shard_memory::copy_rows() says.
  void copy_out(std::uint32_t slot, const policies::chunk_description& about, std::size_t i,
                std::span<float> to, std::shared_ptr<const void> keeps) const;
  // The reverse: the part is as in the checkpoint, whose table is `table` there. Errors: those
  // of the storage, and of row_part::restore; corrupt.
  runtime::status restore(const policies::checkpoint_reader& from, std::size_t table,
                          runtime::storage& folder, const policies::owned_chunk& chunk);

  // As shard_memory::seed_of(), seed_bytes_max() and take_seed() of a part. The versions that
  // are taken over get the names that policies::sharding has for them.
  std::shared_ptr<const std::vector<float>> seed_of(
      const effects::seed& seed, const policies::shard_core::seed_state& state) const;
  std::uint64_t seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const;
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t slot,
                                                    std::span<const std::byte> bytes);

  // What tables larger than memory have done, a line each for people.
  std::vector<std::string> accounts() const;

  // Payloads and answers that are not back.
  std::size_t leased() const noexcept { return payloads_.leased(); }
  const runtime::row_part& part(std::uint32_t slot) const { return parts_.at(slot).rows; }

 private:
  // Lists of ids that a process of a rank has sent in an epoch.
  struct rank_lists {
    std::uint32_t incarnation = 0;
    std::uint64_t epoch = 0;
    runtime::kept_lists kept;
  };
  struct part_state {
    runtime::row_part rows;
    std::uint64_t token = 0;  // of the job
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    float clip_norm = 0.0F;        // of the job
    std::uint64_t capacity = 0;    // rows
    std::uint64_t candidates = 0;  // at most
    std::uint64_t batch_bytes = 0;
    std::map<std::uint32_t, rank_lists> lists = {};  // by rank
  };

  void list_batches(part_state& part, std::span<const input> from);
  row_intake::lists lists_of(const runtime::frame_header& header, std::uint32_t slot);
  runtime::status check_request(std::uint32_t slot, std::span<const std::byte> request) const;
  // The memory that parts of this table share, null where all of it is in memory.
  runtime::expected<std::shared_ptr<runtime::row_memory>> memory_of(
      const policies::open_table_call& table);

  runtime::row_engines* engines_ = nullptr;
  std::string folder_;
  std::unique_ptr<runtime::file_resource> copies_;
  std::map<std::uint32_t, std::weak_ptr<runtime::row_memory>> memories_;  // by table
  std::map<std::uint32_t, part_state> parts_;                             // by slot
  runtime::size_pools payloads_;
  row_intake intake_{payloads_};
  std::vector<runtime::batch_merger::input> inputs_;  // of the step being made
};

}  // namespace tidegate::actors
