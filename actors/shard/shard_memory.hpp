// The memory of a shard, as its shell sees it: what faces workers, the state of the chunks that
// it owns, and the sums that the process before it in a chain lends. One thread, the home's.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "actors/seam/ingress_memory.hpp"
#include "policies/checkpoint/reader.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/shard/chunk_seed.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// How a job's tables are kept.
struct store_options {
  policies::reduce_kind reduce = policies::reduce_kind::mean;
  float clip_norm = 0.0F;  // of job_spec
  std::uint32_t workers = 1;
  std::uint32_t members = 1;  // of the workers and aggregators, that push here
  std::uint32_t inputs = 1;   // of a step, at most
  std::uint32_t keeps = 0;    // policies::versions_kept
  bool replicated = false;    // has room for the sums of steps
};

class shard_memory {
 public:
  using effects = policies::shard_effects;
  using inputs = std::span<const effects::input>;

  // What a checkpoint says of a chunk after the last step, but for its version and how far its
  // workers are.
  struct description {
    std::uint32_t table = 0;
    policies::chunk_description about;
  };
  // An array of a chunk: its parameters in a version buffer, or state of its optimizer.
  struct array_name {
    enum class kind : std::uint8_t { parameters, state1, state2 };
    std::uint32_t slot = 0;
    kind of = kind::parameters;
    std::uint32_t version_buffer = 0;
  };
  // Where sums of a table lie, and how long they are.
  struct lent_place {
    runtime::place_wire wire{};
    std::uint64_t bytes = 0;
  };

  // How far the steps of a chunk were in a checkpoint.
  struct chunk_progress {
    std::uint64_t version = 0;
    std::vector<policies::rank_progress> ranks;
  };

  virtual ~shard_memory() = default;

  virtual ingress_memory& ingress() noexcept = 0;
  // Takes room for chunks, whose slots are the next unused ones. Errors: over_limit, io_error
  // (memory is short); then the slots are used up.
  virtual runtime::status add_table(const policies::open_table_call& table,
                                    std::span<const policies::owned_chunk> chunks,
                                    const store_options& options) = 0;
  // Makes the memory of one of them, with its initial values. Errors: io_error, unavailable.
  virtual runtime::status make_chunk(const policies::open_table_call& table,
                                     const policies::owned_chunk& chunk) = 0;
  // The table could not be made; its room stays taken.
  virtual void forget_table(std::uint32_t /*table*/) {}
  // The core has the chunks by now, as they were made or restored.
  virtual void table_opened(const policies::open_table_call& /*table*/,
                            std::span<const policies::owned_chunk> /*chunks*/) {}
  // Gives the memory of a dense table back, of which nothing is read any more: its values are
  // zero then, and steps that are on their way may still be made. What a device has stays until
  // the shard ends, as do rows, which are lent to frames.
  virtual void discard(std::uint32_t table) = 0;
  // Sets a chunk that was made to what the checkpoint has, whose table is `table` there.
  // Errors: those of the storage; corrupt.
  virtual runtime::expected<chunk_progress> restore(const policies::checkpoint_reader& from,
                                                    std::size_t table, runtime::storage& folder,
                                                    const policies::owned_chunk& chunk) = 0;
  virtual description describe(std::uint32_t slot) const = 0;
  // Copies an array as it is after the last step; the copy is there when work() that has begun
  // by then has ended. `keeps` owns the memory that it is copied to.
  virtual void copy_out(const array_name& array, std::span<float> to,
                        std::shared_ptr<const void> keeps) = 0;
  // Likewise array `i` of a checkpoint of a part of a table of rows, which this is the
  // description of (policies/checkpoint/image.hpp).
  virtual void copy_rows(std::uint32_t slot, const policies::chunk_description& about,
                         std::size_t i, std::span<float> to,
                         std::shared_ptr<const void> keeps) = 0;
  // Where copies of this chunk are best kept, for a while; it outlives them.
  virtual std::pmr::memory_resource* memory_of_copies(std::uint32_t /*slot*/) {
    return std::pmr::get_default_resource();
  }
  // Rows of a part whose last push is of this clock or a later one.
  virtual std::uint64_t rows_since(std::uint32_t slot, std::uint64_t clock) const = 0;
  // Lets work go on that is under way, and tells work() what has ended. Errors: unavailable
  // (the device is lost: nothing that was begun since can be relied on).
  virtual runtime::status poll() { return {}; }
  // Lets the host read the parameters of these slots in a version buffer, when work() that has
  // begun by then has ended.
  virtual void show(std::span<const std::uint32_t> /*slots*/,
                    std::uint32_t /*version_buffer*/) {}
  // One optimizer step. `from` ascends in rank. Errors: over_limit, no_space (no room for
  // rows); io_error, unavailable (what the chunk lies in is lost).
  virtual runtime::status apply(const effects::apply& step, inputs from) = 0;
  // The sum of the squares of the gradient of a step to come. `from` ascends in rank.
  virtual double measure(const effects::measure& step, inputs from) = 0;

  // A payload that was received and is kept, and the gradient that one is.
  virtual std::span<const std::byte> payload_bytes(policies::payload_handle handle) const = 0;
  // of a part of a table of rows, the batch, as numbers.
  virtual std::span<const float> gradient(std::uint32_t slot,
                                          policies::payload_handle handle) const = 0;
  // The sum of a step that was kept (apply::keeps_sum) until the next but one; keeps one of a
  // step with one gradient.
  virtual std::span<const float> sum_of(std::uint32_t slot, std::uint64_t clock) const = 0;
  virtual void keep_sum(std::uint32_t slot, std::uint64_t clock,
                        policies::payload_handle gradient) = 0;

  // A chunk as a replica is handed it: in bytes, at most so many for a job of so many workers;
  // and taken in, from a block that was leased. The bytes are there as those of copy_out() are.
  // Errors: corrupt (not of this chunk).
  virtual std::shared_ptr<const std::vector<float>> seed_of(
      const effects::seed& chunk, const policies::shard_core::seed_state& state) = 0;
  virtual std::uint64_t seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const = 0;
  virtual runtime::buffer lease_seed(std::size_t bytes) = 0;
  virtual runtime::expected<policies::chunk_seed> take_seed(
      std::uint32_t slot, std::span<const std::byte> bytes) = 0;

  // Sums that the process behind reads in place, and those of the process before.
  // Errors: unavailable, corrupt.
  virtual lent_place place_of_sums(std::uint32_t table) const = 0;
  virtual runtime::status map_sums(std::uint32_t table, std::uint64_t bytes,
                                   std::span<const std::byte> place) = 0;
  virtual void forget_sums() = 0;
  // Returns the sum in that version buffer, to be released; no_payload if it cannot be read.
  virtual policies::payload_handle sum_in_place(std::uint32_t slot,
                                                std::uint32_t version_buffer) = 0;
};

}  // namespace tidegate::actors
