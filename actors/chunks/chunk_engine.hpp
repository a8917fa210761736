// Where the chunks of a shard are stepped: in memory of the host, or on a device. It has the
// parameters and the optimizer state of each slot; what faces workers stays endpoint_memory's,
// whose version buffers show the parameters to the host.
//
// An engine may work by itself (actors/seam/work_progress.hpp): its calls take effect in order,
// and what they write can be read when work that had begun by then has ended. One reactor
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/shard/shard_memory.hpp"
#include "policies/shard/effects.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

class chunk_engine {
 public:
  using array_name = shard_memory::array_name;

  // How the chunks of a table are kept.
  struct table_shape {
    std::uint32_t states = 0;  // arrays of the optimizer; two at most
    std::uint32_t workers = 1;
    bool keeps_sums = false;     // steps may ask for their sum
    bool reads_on_host = false;  // gradients are also read there
    runtime::optimizer_options optimizer = {};
  };
  // A step of the optimizer, or of initial parameters that are pushed.
  struct step {
    std::uint32_t slot = 0;
    std::uint32_t from = 0;  // version buffers
    std::uint32_t to = 0;
    bool assigns = false;  // the parameters become the sum
    runtime::kernels::optimizer options;
    float scale = 1.0F;
    float* sum = nullptr;  // where the sum of several is left, on the host, if anywhere
  };

  virtual ~chunk_engine() = default;

  // Has chunks that endpoint_memory has room for. Errors: io_error, over_limit, unavailable.
  virtual runtime::status add_table(std::uint32_t table,
                                    std::span<const policies::owned_chunk> chunks,
                                    const table_shape& shape) = 0;
  // Makes the memory of one of them: all is zero but version buffer 0 of the parameters, which
  // is as endpoint_memory shows it. Errors: likewise.
  virtual runtime::status make_chunk(std::uint32_t slot) = 0;
  // shard_memory::discard(), of what is not endpoint_memory's.
  virtual void discard(std::uint32_t /*table*/) {}
  // Makes a step with these gradients, which ascend in rank, and lets payloads that are
  // released later stay until it has read them.
  virtual void apply(const step& next,
                     std::span<const policies::shard_effects::input> from) = 0;
  // Sets an array to these values.
  virtual void write(const array_name& array, std::span<const float> values) = 0;
  // Copies an array. `keeps` owns the memory that it is copied to.
  virtual void read(const array_name& array, std::span<float> to,
                    std::shared_ptr<const void> keeps) = 0;
  // Shows parameters to the host: shard_memory::show().
  virtual void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) = 0;
  // shard_memory::poll().
  virtual runtime::status poll() = 0;
  // Waits until so much work has ended that what it needs is bounded. Only while a table is set
  // up. Errors: those of poll().
  virtual runtime::status keep_up() = 0;
  // Keeps something until all work that has begun by now has ended.
  virtual void keep(std::shared_ptr<const void> owner) = 0;

  // Of a slot, after all steps so far.
  virtual const runtime::kernels::beta_powers& powers(std::uint32_t slot) const = 0;
  virtual void set_powers(std::uint32_t slot, const runtime::kernels::beta_powers& powers) = 0;
};

}  // namespace tidegate::actors
