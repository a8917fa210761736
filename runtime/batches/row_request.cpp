#include "runtime/batches/row_request.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

void write_header(std::span<std::byte> memory, const row_request_header& header) {
  std::memset(memory.data(), 0, row_batch_alignment);
  std::memcpy(memory.data(), &header, sizeof header);
}

auto bad_request(const std::string& problem) {
  return fail(errc::corrupt, "a request of rows " + problem);
}

}  // namespace

std::span<std::uint64_t> begin_gather(std::span<std::byte> memory, std::uint32_t ids) {
  TIDEGATE_ASSERT(
      memory.size() == gather_request_bytes(ids) && is_aligned_as_batch(memory.data()),
      "memory for a gather of this size");
  write_header(memory, {.kind = row_request_kind::gather, .rows = ids, .since = {}});
  const auto end = row_batch_alignment + ids * sizeof(std::uint64_t);
  std::memset(memory.data() + end, 0, memory.size() - end);
  return {reinterpret_cast<std::uint64_t*>(memory.data() + row_batch_alignment), ids};
}

namespace {

void write_again(std::span<std::byte> request, row_request_header header) {
  row_request_header before;
  TIDEGATE_ASSERT(request.size() >= sizeof before, "a request");
  std::memcpy(&before, request.data(), sizeof before);
  TIDEGATE_ASSERT(
      before.kind == row_request_kind::gather || before.kind == row_request_kind::changes,
      "a request of certain rows");
  header.rows = before.rows;
  header.code_bytes = before.code_bytes;
  header.name = before.name;
  std::memcpy(request.data(), &header, sizeof header);
}

}  // namespace

void ask_values(std::span<std::byte> request, bool may_lease) {
  write_again(
      request,
      {.kind = row_request_kind::gather, .may_lease = may_lease ? 1U : 0U, .since = {}});
}

void ask_changes(std::span<std::byte> request, const row_mark& since) {
  write_again(request, {.kind = row_request_kind::changes, .since = since});
}

void write_scan(std::span<std::byte> memory, std::uint32_t rows_max,
                std::optional<std::uint64_t> after) {
  TIDEGATE_ASSERT(memory.size() == scan_request_bytes && is_aligned_as_batch(memory.data()),
                  "memory for a scan");
  write_header(memory, {.kind = row_request_kind::scan,
                        .rows = rows_max,
                        .has_after = after ? 1U : 0U,
                        .after = after.value_or(0),
                        .since = {}});
}

void write_call(std::span<std::byte> memory, std::span<const std::byte> call) {
  TIDEGATE_ASSERT(memory.size() == call_request_bytes && is_aligned_as_batch(memory.data()) &&
                      call.size() == call_payload_bytes,
                  "memory for a call");
  write_header(memory, {.kind = row_request_kind::call, .since = {}});
  const auto at = memory.subspan(row_batch_alignment);
  std::fill(std::copy(call.begin(), call.end(), at.begin()), at.end(), std::byte{0});
}

namespace {

// Errors: corrupt (no such kind, another size).
expected<row_request> request_at(std::span<const std::byte> memory) {
  if (memory.size() < row_batch_alignment || !is_aligned_as_batch(memory.data()))
    return bad_request("has no header");
  row_request_header header;
  std::memcpy(&header, memory.data(), sizeof header);
  row_request request;
  request.kind = header.kind;
  switch (header.kind) {
    case row_request_kind::gather:
    case row_request_kind::changes:
      if (memory.size() != gather_request_bytes(header.rows))
        return bad_request("has " + std::to_string(header.rows) + " ids in another size");
      if (header.may_lease > 1) return bad_request("says neither yes nor no to a lease");
      request.may_lease = header.may_lease == 1;
      request.since = header.since;
      request.ids = {
          reinterpret_cast<const std::uint64_t*>(memory.data() + row_batch_alignment),
          header.rows};
      return request;
    case row_request_kind::scan:
      if (memory.size() != scan_request_bytes || header.rows == 0 || header.has_after > 1)
        return bad_request("asks for no page that there is");
      request.rows_max = header.rows;
      if (header.has_after == 1) request.after = header.after;
      return request;
    case row_request_kind::call:
      if (memory.size() != call_request_bytes || header.rows != 0)
        return bad_request("calls with another size");
      request.call = memory.subspan(row_batch_alignment, call_payload_bytes);
      return request;
  }
  return bad_request("is of a kind that nobody knows");
}

}  // namespace

expected<row_request> read_row_request(std::span<const std::byte> memory) {
  auto request = request_at(memory);
  if (request && !ids_ascend(request->ids)) return bad_request("has ids that do not ascend");
  return request;
}

row_request checked_row_request(std::span<const std::byte> memory) {
  const auto request = request_at(memory);
  TIDEGATE_ASSERT(request, "a request that was checked");
  return *request;
}

}  // namespace tidegate::runtime
