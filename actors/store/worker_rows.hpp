// The memory of a table of rows in a worker: the batches that it pushes, in two halves
// (policies/protocol/double_buffer.hpp), what it asks of parts, and their answers. The
// session's thread writes and reads while no operation is under way there, the reactor's in
// between. Once warm, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/seam/sent_payload.hpp"
#include "actors/store/asked_rows.hpp"
#include "actors/store/pushed_batch.hpp"
#include "actors/store/rows_ahead.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "policies/worker/core.hpp"
#include "policies/worker/known_lists.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/status.hpp"
#include "runtime/batches/batch_writer.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/batches/row_request.hpp"
#include "runtime/parts/cache_lines.hpp"
#include "runtime/parts/leased_rows.hpp"
#include "runtime/parts/row_lease.hpp"

namespace tidegate::actors {

class worker_rows {
 public:
  using part_list = std::vector<std::uint32_t>;

  // `seed`, `token`: the job's.
  worker_rows(const policies::table_grant& grant, std::uint64_t seed, std::uint64_t token);

  std::uint32_t dim() const noexcept { return dim_; }
  std::uint32_t parts() const noexcept { return parts_; }
  // Returns true if ids go to a shard as they are. `is_here`: it is on this host.
  bool sends_plain_ids(bool is_here) const noexcept {
    return is_here || dim_ > runtime::coded_dim_most;
  }

  // Writes a push to this half, whose push before is acknowledged: `dim` gradients of each id,
  // those of equal ids summed in their order. Returns the parts that have a batch, ascending.
  // Errors: over_limit (more than a frame takes; nothing has been written).
  runtime::expected<part_list> write_push(std::uint32_t half,
                                          std::span<const std::uint64_t> ids,
                                          std::span<const float> gradients);
  // The batch of a part is sent next. Returns the list of its ids, where they are coded.
  // `is_here`: its shard is on this host.
  std::optional<policies::sent_list> pushed_list(std::uint32_t half, std::uint32_t part,
                                                 bool is_here) {
    return batches_[half][part].list(sends_plain_ids(is_here), coder_, token_);
  }
  // Returns what is sent, with the list or with its name.
  sent_payload batch(std::uint32_t half, std::uint32_t part, bool names_list) const {
    const auto other =
        runtime::is_planted(runtime::planted_bug::row_batch_of_the_other_half) ? 1U : 0U;
    return batches_[half ^ other][part].payload(names_list);
  }

  // Writes the requests for rows, with room for their answers. Returns the parts that are
  // asked. Errors: over_limit.
  runtime::expected<part_list> write_gather(std::span<const std::uint64_t> ids);
  // Writes requests for rows ahead of a pull of the same ids. Returns the parts that are asked:
  // those that were read in place the last time are not. Errors: over_limit.
  runtime::expected<part_list> write_ahead(std::span<const std::uint64_t> ids);
  // Puts the rows where their ids were: those of answers, those that have not changed since
  // they were asked for ahead, and those that answers let be read in place. `out`: `dim` values
  // of each id. What could not be read is asked for anew: its answer is values.
  struct outcome {
    part_list unread;
    runtime::status unmapped;  // why the memory of a shard cannot be read, if it cannot
  };
  outcome scatter(std::span<float> out);
  // Writes a request for the next page of one part; without `after` for the first.
  void write_scan(std::uint32_t part, std::optional<std::uint64_t> after);
  // Returns the page that has arrived. Errors: corrupt.
  runtime::expected<runtime::row_batch> page(std::uint32_t part) const;
  // Writes a call of a function to one part; a call has call_payload_bytes.
  void write_call(std::uint32_t part, std::span<const std::byte> call);
  // Returns the results of the call that have arrived, in as many bytes; empty: in another
  // size.
  std::span<const std::byte> results(std::uint32_t part) const;
  std::uint32_t page_rows() const noexcept { return page_rows_; }

  // Lets go of the memory of shards: one has moved, and what it had shall not stay because of
  // us.
  void let_go();

  // Of the pull that is under way.
  enum class pull_kind : std::uint8_t { for_use, ahead };
  // The request for a part, to its shard. `moves`: how often that shard has moved, if its
  // memory may be mapped here.
  sent_payload request(pull_kind kind, std::uint32_t part, std::optional<std::uint32_t> moves,
                       bool names_list);
  // The request is sent next to a shard on another host. Returns the list of its ids, if it is
  // for certain rows.
  std::optional<policies::sent_list> pulled_list(pull_kind kind, std::uint32_t part);
  // Where so many bytes of an answer arrive; empty if it cannot be as long.
  std::span<std::byte> room(pull_kind kind, std::uint32_t part, std::uint64_t bytes);

 private:
  struct answer_room {
    runtime::cache_lines memory;
    std::span<std::byte> bytes;
    bool is_whole_part = false;  // of a page or a call; may be shorter
    std::uint64_t filled = 0;    // by what arrives
  };
  // What has become of a part that is read in place.
  enum class reading : std::uint8_t { waits, is_found, is_done, was_late };
  // Of a part whose shard is on this host.
  struct place_in_shard {
    runtime::leased_rows rows;
    alignas(runtime::row_batch_alignment) std::array<std::byte, runtime::row_lease_bytes> lease;
    std::optional<std::uint32_t> moves;       // of the shard that is asked
    bool may_lease = false;                   // says the request
    bool asks_changes = false;                // likewise
    std::optional<std::uint32_t> unmappable;  // moves of one whose memory cannot be read
    bool is_leased = false;                   // in the answer that has arrived
    reading state = reading::waits;           // of the gather under way
  };

  // Puts the rows of an answer where their ids were; returns false if it cannot be read.
  bool scatter_answer(std::uint32_t part, std::span<float> out);
  // Finds the rows of a part in the memory of its shard; returns false if it cannot be read.
  bool find_in_place(std::uint32_t part, std::span<float> out, outcome& result);
  void copy_found(std::span<float> out) const;
  runtime::status check_size(const char* doing, std::uint64_t bytes, std::size_t ids) const;
  // Returns the parts that have rows of `sorted`. `answer_bytes`: of an answer with so many.
  // Errors: over_limit.
  runtime::expected<part_list> parts_of(const runtime::batch_writer& sorted, const char* doing,
                                        std::size_t ids,
                                        std::uint64_t (*answer_bytes)(std::uint64_t rows,
                                                                      std::uint32_t dim)) const;

  std::string name_;
  std::uint32_t dim_;
  runtime::reduction reduce_;
  std::uint32_t parts_;
  std::uint64_t key_;
  std::uint64_t token_;
  std::uint32_t page_rows_;
  runtime::batch_writer sorted_;  // ids of the pull under way, or of the last push
  runtime::batch_writer sorted_ahead_;
  std::array<std::vector<pushed_batch>, policies::gradient_halves> batches_;  // by part
  runtime::id_coder coder_;                                                   // of what is sent
  std::vector<asked_rows> requests_;
  std::vector<answer_room> answers_;
  std::vector<place_in_shard> places_;
  rows_ahead ahead_;
  std::vector<const float*> found_;  // of ids that are read in place: where their values lie
};

// Returns the kind of the pull of a table of rows that is under way.
inline worker_rows::pull_kind kind_of_pull(const policies::worker_core& core,
                                           std::uint32_t table) {
  return core.tables().at(table).pull.is_ahead ? worker_rows::pull_kind::ahead
                                               : worker_rows::pull_kind::for_use;
}

// Return what a push or a call of rows sends, and before that the list of ids that it is sent
// with, where they are coded. `moves`: of a shard on this host.
inline sent_payload payload_of_send(worker_rows& rows, const policies::worker_core& core,
                                    const policies::worker_effects::send& send,
                                    std::optional<std::uint32_t> moves) {
  if (send.kind == policies::worker_effects::send_kind::push)
    return rows.batch(send.half, send.chunk, send.names_list);
  return rows.request(kind_of_pull(core, send.table), send.chunk, moves, send.names_list);
}
inline std::optional<policies::sent_list> list_of_send(
    worker_rows& rows, const policies::worker_core& core,
    const policies::worker_effects::send& send, bool is_here) {
  if (send.kind == policies::worker_effects::send_kind::push)
    return rows.pushed_list(send.half, send.chunk, is_here);
  if (rows.sends_plain_ids(is_here)) return std::nullopt;
  return rows.pulled_list(kind_of_pull(core, send.table), send.chunk);
}

}  // namespace tidegate::actors
