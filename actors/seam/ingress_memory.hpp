// The memory of the side of a shard or an aggregator that faces workers, as its shell sees it:
// parameters that members read, gradients that they pushed and that wait to be summed. Shared
// segments and pools in a cluster; the simulator's own, which notes what each payload stands
// for. One thread, the home's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "actors/seam/late_answer.hpp"
#include "actors/seam/work_progress.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "policies/shard/ingress_core.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/transport/device_places.hpp"
#include "runtime/transport/frame.hpp"

namespace tidegate::actors {

// How a job's tables are kept.
struct table_sizes {
  std::uint32_t workers = 1;  // of the job
  std::uint32_t members = 1;  // that push here
  std::uint64_t copies = 1;   // of each chunk's bytes, that this process will keep in all
  bool has_gaps = false;      // gradients may have gaps (runtime/kernels/gaps.hpp)
  runtime::reduction reduce = runtime::reduction::of_job;  // how they become one
  runtime::rule_name reduce_rule = {};                     // of a plugin
};

// The payload of device_attach.
inline constexpr std::size_t device_gradients_bytes =
    policies::gradient_halves * runtime::device_place_bytes;

class ingress_memory {
 public:
  virtual ~ingress_memory() = default;

  // What the memory does by itself. What an effect has begun takes effect, and what it writes
  // can be read here, when the work that had begun by then has ended.
  const work_progress& work() const noexcept { return work_; }
  work_progress& work() noexcept { return work_; }

  // Where members of this host read the parameters of a table.
  virtual runtime::place_wire place_of_parameters(std::uint32_t table) const = 0;
  // The parameters of a slot in a version buffer, which `reply` takes along.
  virtual std::span<const std::byte> payload_of(const runtime::frame_header& reply,
                                                std::uint32_t slot,
                                                std::uint32_t version_buffer) = 0;
  virtual std::uint64_t bytes_of(std::uint32_t slot) const = 0;
  virtual std::uint64_t first_of(std::uint32_t slot) const = 0;  // element of the table

  // A place for a gradient, or for the name of a member's memory, in place_wire_bytes or
  // device_gradients_bytes, or for a call; empty when the bound is reached.
  virtual runtime::buffer lease(std::size_t bytes) = 0;
  virtual runtime::buffer lease_name(std::size_t bytes) = 0;
  // Keeps a received gradient until release(), and until work that reads it has ended.
  virtual policies::payload_handle keep(runtime::buffer gradient) = 0;
  // Keeps a call likewise, whose bytes stay until release().
  virtual policies::payload_handle keep_call(runtime::buffer call) = 0;
  virtual std::span<const std::byte> call_bytes(policies::payload_handle call) const = 0;
  virtual void release(policies::payload_handle payload) = 0;

  // Parts of tables of rows have payloads of any size. A place for a batch or a request; what
  // the part takes of what has arrived there, which may be coded (errors: corrupt, over_limit
  // where memory is short, not_found where a list of ids is named that is not kept); a place
  // for the answer to a request, empty if memory is short; and the answer as of a version
  // buffer, which is written there and may be shorter.
  virtual runtime::buffer lease_rows(const runtime::frame_header& /*header*/,
                                     std::uint32_t /*slot*/) {
    return {};
  }
  virtual runtime::status take_rows(const runtime::frame_header& /*header*/,
                                    std::uint32_t /*slot*/, runtime::buffer& /*rows*/) {
    return {runtime::errc::corrupt, "rows are not kept here"};
  }
  virtual runtime::buffer lease_answer(std::uint32_t /*slot*/,
                                       std::span<const std::byte> /*request*/) {
    return {};
  }
  virtual row_answer answer_rows(const runtime::frame_header& /*reply*/, std::uint32_t /*slot*/,
                                 std::uint32_t /*version_buffer*/,
                                 std::span<const std::byte> /*request*/,
                                 const runtime::buffer& /*into*/) {
    return {};
  }

  // Maps the gradients of a member for a table, where its attach says that they are. Errors:
  // unavailable, corrupt (window_map::open).
  virtual runtime::status map_gradients(const policies::member_key& member, std::uint32_t table,
                                        std::span<const std::byte> place) = 0;
  // Names the chunk's part of such a gradient, which stays readable until release().
  // `on_device`: as map_on_device() has mapped it.
  virtual policies::payload_handle keep_in_place(const policies::member_key& member,
                                                 std::uint32_t table, std::uint32_t half,
                                                 std::uint32_t slot, bool on_device) = 0;
  // Opens the gradients of a member for a table on the device that steps it. Errors:
  // unavailable, corrupt.
  virtual runtime::status map_on_device(const policies::member_key& /*member*/,
                                        std::uint32_t /*table*/,
                                        std::span<const std::byte> /*places*/) {
    return {runtime::errc::unavailable, "no device steps the table"};
  }
  // Returns where version buffers of a table lie there that are not among `known` (bit b: of
  // version buffer b): some of them, if there are any.
  virtual std::vector<runtime::device_place> device_parameters(std::uint32_t /*table*/,
                                                               std::uint64_t /*known*/) {
    return {};
  }
  // The member is gone or replaced. What is kept of its memory stays until it is released.
  virtual void forget(const policies::member_key& member) = 0;

 private:
  work_progress work_;
};

}  // namespace tidegate::actors
