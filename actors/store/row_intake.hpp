// Coded rows that have arrived from another host, which become what a part takes: batches and
// requests with their ids as they are. Gradients stay where they are; their ids are written
// before them, for which a place has room. One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/batches/coded_rows.hpp"
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

  // Puts the batch, or the request, in the place of its coded form. Errors: corrupt, over_limit
  // (memory is short); then `rows` is as it was.
  runtime::status take_batch(runtime::buffer& rows, std::uint32_t dim);
  runtime::status take_request(runtime::buffer& rows);

 private:
  runtime::size_pools& pools_;
  runtime::id_coder coder_;
};

}  // namespace tidegate::actors
