// What a worker asks of one part of a table of rows, as it travels in the payload of a frame:
// the values of certain rows, what of them has changed, a page of the rows that there are, or
// what a function makes of these.
//
//   header   64 bytes: row_request_header, zeros
//   ids      of a gather or of changes, `rows` of 64 bits, ascending, each once; zeros to the
//            next multiple of 64 bytes
//   call     of a call, call_payload_bytes (runtime/functions/call_wire.hpp); zeros likewise
//
// A gather is answered with `rows` times dim float32, in the order of the ids, and zeros to the
// next multiple of 64 bytes; or, if it lets the answer be one, with a lease on where the rows
// lie (runtime/parts/row_lease.hpp), which is shorter. A request of changes is answered with
// what has changed since a mark (row_changes.hpp), or with all rows if it knows no mark. A scan
// is answered with a batch (row_batch.hpp) of at most `rows` rows, which ascend; a batch with
// fewer ends the part. A call is answered with its results, and zeros to the next multiple of
// 64 bytes. Numbers are little-endian, memory is aligned to 64 bytes. Plain views of the
// caller's memory, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/frame_header.hpp"
#include "runtime/base/list_name.hpp"
#include "runtime/base/status.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_changes.hpp"

namespace tidegate::runtime {

enum class row_request_kind : std::uint32_t { gather = 1, scan = 2, changes = 3, call = 4 };

struct row_request_header {
  row_request_kind kind = row_request_kind::gather;
  std::uint32_t rows = 0;       // gather, changes: ids; scan: of a page at most
  std::uint32_t has_after = 0;  // scan: 1 if the page begins behind the id `after`
  std::uint32_t may_lease = 0;  // gather: 1 if the answer may be a lease
  std::uint64_t after = 0;
  row_mark since;  // changes
  // Of coded rows (coded_rows.hpp): bytes of the code, 0 where the list is named; and its name.
  std::uint32_t code_bytes = 0;
  std::uint32_t zero = 0;
  list_name name;
};

// A request in the caller's memory.
struct row_request {
  row_request_kind kind = row_request_kind::gather;
  std::span<const std::uint64_t> ids;  // gather, changes
  bool may_lease = false;              // gather
  std::uint32_t rows_max = 0;          // scan
  std::optional<std::uint64_t> after;  // scan: only rows above it
  row_mark since;                      // changes
  std::span<const std::byte> call;     // call: call_payload_bytes
};

constexpr std::uint64_t gather_request_bytes(std::uint64_t ids) noexcept {
  return row_batch_values(ids);
}
inline constexpr std::uint64_t scan_request_bytes = row_batch_alignment;
inline constexpr std::uint64_t call_answer_bytes = aligned_as_batch(call_payload_bytes);
inline constexpr std::uint64_t call_request_bytes = row_batch_alignment + call_answer_bytes;
constexpr std::uint64_t gather_answer_bytes(std::uint64_t ids, std::uint32_t dim) noexcept {
  return aligned_as_batch(ids * dim * sizeof(float));
}

// Writes the header of a gather of so many ids and the zeros behind them; the caller writes the
// ids, which it returns. `memory`: gather_request_bytes(ids), aligned (asserted).
std::span<std::uint64_t> begin_gather(std::span<std::byte> memory, std::uint32_t ids);
// What a written gather, or request of changes, coded or not, asks of its ids from now on:
// values or, if it may be one, a lease; or the changes since a mark, or all rows if it has no
// history.
void ask_values(std::span<std::byte> request, bool may_lease);
void ask_changes(std::span<std::byte> request, const row_mark& since);
// Writes a scan. `memory`: scan_request_bytes, aligned (asserted).
void write_scan(std::span<std::byte> memory, std::uint32_t rows_max,
                std::optional<std::uint64_t> after);
// Writes a call. `memory`: call_request_bytes, aligned; `call`: call_payload_bytes (asserted).
void write_call(std::span<std::byte> memory, std::span<const std::byte> call);

// Returns the request that `memory` holds, which somebody else has written. Errors: corrupt (no
// such kind, another size, ids that do not ascend).
expected<row_request> read_row_request(std::span<const std::byte> memory);
// Returns it without a look at its ids. `memory`: as read_row_request() has accepted it.
row_request checked_row_request(std::span<const std::byte> memory);

}  // namespace tidegate::runtime
