// Coded rows that have arrived from another host, which become what a part takes: batches and
// requests with their ids as they are. Gradients stay where they are; their ids are written
// before them, for which a place has room. One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/batches/kept_lists.hpp"
#include "runtime/memory/buffer.hpp"

namespace tidegate::actors {

class row_intake {
 public:
  // `pools` outlives this.
  explicit row_intake(runtime::size_pools& pools) : pools_(pools) {}
  row_intake(const row_intake&) = delete;
  row_intake& operator=(const row_intake&) = delete;

  // A place for rows, aligned to cache lines; empty if memory is short.
  runtime::buffer lease(std::size_t bytes);
  // Likewise for a coded batch of rows of `dim` values, with room for their ids before it.
  runtime::buffer lease_coded(std::size_t bytes, std::uint32_t dim);

  // The lists that a part keeps of the rank that has sent the rows, and the key of their names.
  struct lists {
    runtime::kept_lists& kept;
    std::uint64_t key = 0;
  };
  // Puts the batch, or the request, in the place of its coded form, and keeps its list. Errors:
  // corrupt, over_limit (memory is short), not_found (a list is named that is not kept); then
  // `rows` is as it was.
  runtime::status take_batch(runtime::buffer& rows, std::uint32_t dim, const lists& from);
  runtime::status take_request(runtime::buffer& rows, const lists& from);

 private:
  // Returns the ids, until the next call.
  runtime::expected<std::span<const std::uint64_t>> ids_of(const runtime::coded_list& list,
                                                           const lists& from);

  runtime::size_pools& pools_;
  runtime::id_coder coder_;
};

}  // namespace tidegate::actors
