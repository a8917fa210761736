#include "runtime/batches/coded_rows.hpp"

#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr auto line = row_batch_alignment;

auto bad_rows(const std::string& problem) {
  return fail(errc::corrupt, "coded rows " + problem);
}

// Writes a line with this header, a code of so many bytes is behind it.
template <class Header>
void write_line(std::span<std::byte> memory, const Header& header, std::uint64_t code_bytes) {
  std::memset(memory.data(), 0, line);
  std::memcpy(memory.data(), &header, sizeof header);
  const auto end = line + code_bytes;
  std::memset(memory.data() + end, 0, aligned_as_batch(end) - end);
}

}  // namespace

std::span<std::byte> id_coder::encode_batch(std::span<std::byte> room,
                                            std::span<std::byte> batch) {
  row_batch_header header;
  std::memcpy(&header, batch.data(), sizeof header);
  const auto ids = checked_row_batch(batch, header.dim).ids;
  words_.resize(id_code_bytes_max(ids.size()) / sizeof(std::uint64_t));
  const auto bytes = encode_ids(ids, std::as_writable_bytes(std::span(words_)));
  const auto values = row_values_bytes(header.rows, header.dim);
  const auto size = line + aligned_as_batch(bytes) + values;
  TIDEGATE_ASSERT(size <= room.size() && &room.back() == &batch.back(), "room for the code");
  const auto coded = room.last(size);
  std::memcpy(coded.data() + line, words_.data(), bytes);
  const coded_batch_header coded_header{
      .rows = header.rows, .dim = header.dim, .code_bytes = static_cast<std::uint32_t>(bytes)};
  write_line(coded, coded_header, bytes);
  return coded;
}

std::span<std::byte> id_coder::encode_request(std::span<const std::byte> request,
                                              std::span<std::byte> into) {
  row_request_header header;
  std::memcpy(&header, request.data(), sizeof header);
  const auto ids = checked_row_request(request).ids;
  const auto bytes = encode_ids(ids, into.subspan(line));
  header.code_bytes = static_cast<std::uint32_t>(bytes);
  write_line(into, header, bytes);
  return into.first(line + aligned_as_batch(bytes));
}

expected<std::span<const std::uint64_t>> id_coder::decode(std::span<const std::byte> code,
                                                          std::uint32_t ids) {
  words_.resize(ids);
  if (auto decoded = decode_ids(code, words_); !decoded.ok()) return fail(std::move(decoded));
  return std::span<const std::uint64_t>(words_);
}

expected<coded_batch> read_coded_batch(std::span<const std::byte> memory, std::uint32_t dim) {
  if (memory.size() < line || !is_aligned_as_batch(memory.data()))
    return bad_rows("have no header");
  coded_batch_header header;
  std::memcpy(&header, memory.data(), sizeof header);
  if (header.dim != dim)
    return bad_rows("have " + std::to_string(header.dim) + " values each; the table has " +
                    std::to_string(dim));
  const auto values_at = line + aligned_as_batch(header.code_bytes);
  if (memory.size() != values_at + row_values_bytes(header.rows, dim) ||
      row_batch_bytes(header.rows, dim) > limits::chunk_bytes_max)
    return bad_rows("are " + std::to_string(header.rows) + " in another size");
  return coded_batch{.rows = header.rows,
                     .code = memory.subspan(line, header.code_bytes),
                     .values_at = values_at};
}

expected<coded_request> read_coded_request(std::span<const std::byte> memory) {
  if (memory.size() < line || !is_aligned_as_batch(memory.data()))
    return bad_rows("are asked for without a header");
  coded_request request;
  std::memcpy(&request.header, memory.data(), sizeof request.header);
  const auto& header = request.header;
  const bool is_of_ids =
      header.kind == row_request_kind::gather || header.kind == row_request_kind::changes;
  if (!is_of_ids || header.may_lease > 1)
    return bad_rows("are asked for in no way that there is");
  if (memory.size() != line + aligned_as_batch(header.code_bytes) ||
      gather_request_bytes(header.rows) > limits::chunk_bytes_max)
    return bad_rows("are asked for, " + std::to_string(header.rows) +
                    " of them, in another size");
  request.code = memory.subspan(line, header.code_bytes);
  return request;
}

void write_request(const row_request_header& header, std::span<const std::uint64_t> ids,
                   std::span<std::byte> memory) {
  const auto room = begin_gather(memory, static_cast<std::uint32_t>(ids.size()));
  std::copy(ids.begin(), ids.end(), room.begin());
  auto plain = header;
  plain.code_bytes = 0;
  std::memcpy(memory.data(), &plain, sizeof plain);
}

}  // namespace tidegate::runtime
