// Batches and requests of rows as they travel between hosts: with the code of their ids
// (id_code.hpp) in place of the ids. The header of the frame says which of the two forms a
// payload has (frame_flag_coded).
//
//   batch     a line: coded_batch_header, zeros; the code; the line of a batch whose list is
//             named; the values (row_batch.hpp)
//   request   a line: row_request_header; the code
//
// A list that its receiver keeps is named (runtime/base/list_name.hpp), and has no code then:
//
//   batch     a line: coded_batch_header, zeros; the values
//   request   a line: row_request_header
//
// So what is sent with a list has within it what is sent with its name, and both can be on
// their way. A line has 64 bytes, and what follows another begins on one, with zeros before it:
// the values of a batch stay where they are when one form becomes the other. Plain views of the
// caller's memory, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/list_name.hpp"
#include "runtime/base/status.hpp"
#include "runtime/batches/id_code.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_request.hpp"

namespace tidegate::runtime {

// Ids of rows with more values are sent as they are: coding would save less than a tenth of the
// bytes, and costs a shard a sixth of its time (docs/measurements/rows.md).
inline constexpr std::uint32_t coded_dim_most = 12;

struct coded_batch_header {
  std::uint32_t rows = 0;
  std::uint32_t dim = 0;
  std::uint32_t code_bytes = 0;  // 0: the list is named
  std::uint32_t zero = 0;
  list_name name;
};

// Returns the bytes before the values of a batch of so many rows, at most, in either form.
constexpr std::uint64_t batch_front_bytes_max(std::uint64_t rows) noexcept {
  const auto coded = 2 * row_batch_alignment + aligned_as_batch(id_code_bytes_max(rows));
  return std::max(row_batch_values(rows), coded);
}
constexpr std::uint64_t row_values_bytes(std::uint64_t rows, std::uint32_t dim) noexcept {
  return aligned_as_batch(rows * dim * sizeof(float));
}
// Returns the bytes of both forms of a request, at most: with the name and with the list.
constexpr std::uint64_t coded_request_bytes_max(std::uint64_t ids) noexcept {
  return 2 * row_batch_alignment + aligned_as_batch(id_code_bytes_max(ids));
}

// A batch or a request in its two forms.
struct coded_forms {
  std::span<std::byte> with_list;
  std::span<std::byte> with_name;
  list_name name;
  std::uint64_t code_bytes = 0;
};

// Writes ids in their other form. What it needs for that it keeps: once warm, nothing
// allocates. One thread.
class id_coder {
 public:
  // Turns a batch into a coded one with the same values. `room`: ends where the batch ends, and
  // begins batch_front_bytes_max() before its values. `batch`: as checked_row_batch() takes it,
  // with rows (asserted); its ids are overwritten. `key`: of names.
  coded_forms encode_batch(std::span<std::byte> room, std::span<std::byte> batch,
                           std::uint64_t key);
  // Writes the coded forms of a request of certain rows. `into`: coded_request_bytes_max(ids),
  // aligned.
  static coded_forms encode_request(std::span<const std::byte> request,
                                    std::span<std::byte> into, std::uint64_t key);

  // Reads the ids of a coded batch, or request, until the next call. Errors: corrupt.
  expected<std::span<const std::uint64_t>> decode(std::span<const std::byte> code,
                                                  std::uint32_t ids);

 private:
  std::vector<std::uint64_t> words_;
};

// A list of ids, as code or by name.
struct coded_list {
  std::uint32_t ids = 0;
  list_name name;
  std::span<const std::byte> code;  // empty: named

  bool is_named() const noexcept { return code.empty() && ids > 0; }
};
// A coded batch, and a coded request, in the caller's memory.
struct coded_batch {
  coded_list list;
  std::uint64_t values_at = 0;  // in bytes from the begin
};
struct coded_request {
  row_request_header header;
  coded_list list;
};

// Return what `memory` holds, which somebody else has written; the code is not looked at.
// Errors: corrupt (another size, another width, another kind).
expected<coded_batch> read_coded_batch(std::span<const std::byte> memory, std::uint32_t dim);
expected<coded_request> read_coded_request(std::span<const std::byte> memory);

// Writes a request as it was before it was coded. `memory`: gather_request_bytes(ids.size()),
// aligned (asserted).
void write_request(const row_request_header& header, std::span<const std::uint64_t> ids,
                   std::span<std::byte> memory);

}  // namespace tidegate::runtime
