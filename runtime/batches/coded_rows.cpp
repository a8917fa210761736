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

// Writes a line with this header, and zeros up to the next line behind what follows.
template <class Header>
void write_line(std::span<std::byte> memory, const Header& header) {
  std::memset(memory.data(), 0, line);
  std::memcpy(memory.data(), &header, sizeof header);
  const auto end = line + header.code_bytes;
  std::memset(memory.data() + end, 0, aligned_as_batch(end) - end);
}

template <class Header>
Header header_in(std::span<const std::byte> memory) {
  Header header;
  std::memcpy(&header, memory.data(), sizeof header);
  return header;
}

}  // namespace

coded_forms id_coder::encode_batch(std::span<std::byte> room, std::span<std::byte> batch,
                                   std::uint64_t key) {
  const auto header = header_in<row_batch_header>(batch);
  const auto ids = checked_row_batch(batch, header.dim).ids;
  TIDEGATE_ASSERT(!ids.empty(), "a batch that has rows");
  coded_batch_header named{.rows = header.rows, .dim = header.dim, .name = name_list(ids, key)};
  words_.resize(id_code_bytes_max(ids.size()) / sizeof(std::uint64_t));
  const auto bytes = encode_ids(ids, std::as_writable_bytes(std::span(words_)));
  const auto values = row_values_bytes(header.rows, header.dim);
  const auto size = 2 * line + aligned_as_batch(bytes) + values;
  TIDEGATE_ASSERT(size <= room.size() && &room.back() == &batch.back(), "room for the code");
  const coded_forms forms{.with_list = room.last(size),
                          .with_name = room.last(line + values),
                          .name = named.name,
                          .code_bytes = bytes};
  std::memcpy(forms.with_list.data() + line, words_.data(), bytes);
  write_line(forms.with_name, named);
  named.code_bytes = static_cast<std::uint32_t>(bytes);
  write_line(forms.with_list, named);
  return forms;
}

coded_forms id_coder::encode_request(std::span<const std::byte> request,
                                     std::span<std::byte> into, std::uint64_t key) {
  auto header = header_in<row_request_header>(request);
  const auto ids = checked_row_request(request).ids;
  header.name = name_list(ids, key);
  const auto bytes = encode_ids(ids, into.subspan(2 * line));
  const coded_forms forms{.with_list = into.subspan(line, line + aligned_as_batch(bytes)),
                          .with_name = into.first(line),
                          .name = header.name,
                          .code_bytes = bytes};
  write_line(forms.with_name, header);
  header.code_bytes = static_cast<std::uint32_t>(bytes);
  write_line(forms.with_list, header);
  return forms;
}

expected<std::span<const std::uint64_t>> id_coder::decode(std::span<const std::byte> code,
                                                          std::uint32_t ids) {
  // Before there is room for as many as it claims to be of.
  if (code.size() < id_code_bytes_min(ids))
    return bad_rows("have a code that ends before them");
  words_.resize(ids);
  if (auto decoded = decode_ids(code, words_); !decoded.ok()) return fail(std::move(decoded));
  return std::span<const std::uint64_t>(words_);
}

expected<coded_batch> read_coded_batch(std::span<const std::byte> memory, std::uint32_t dim) {
  if (memory.size() < line || !is_aligned_as_batch(memory.data()))
    return bad_rows("have no header");
  const auto header = header_in<coded_batch_header>(memory);
  if (header.dim != dim)
    return bad_rows("have " + std::to_string(header.dim) + " values each; the table has " +
                    std::to_string(dim));
  const bool is_named = header.code_bytes == 0;
  const auto values_at = (is_named ? 1 : 2) * line + aligned_as_batch(header.code_bytes);
  if (memory.size() != values_at + row_values_bytes(header.rows, dim) ||
      row_batch_bytes(header.rows, dim) > limits::chunk_bytes_max)
    return bad_rows("are " + std::to_string(header.rows) + " in another size");
  return coded_batch{.list = {.ids = header.rows,
                              .name = header.name,
                              .code = memory.subspan(line, header.code_bytes)},
                     .values_at = values_at};
}

expected<coded_request> read_coded_request(std::span<const std::byte> memory) {
  if (memory.size() < line || !is_aligned_as_batch(memory.data()))
    return bad_rows("are asked for without a header");
  coded_request request;
  const auto& header = request.header = header_in<row_request_header>(memory);
  const bool is_of_ids =
      header.kind == row_request_kind::gather || header.kind == row_request_kind::changes;
  if (!is_of_ids || header.may_lease > 1)
    return bad_rows("are asked for in no way that there is");
  if (memory.size() != line + aligned_as_batch(header.code_bytes) ||
      gather_request_bytes(header.rows) > limits::chunk_bytes_max)
    return bad_rows("are asked for, " + std::to_string(header.rows) +
                    " of them, in another size");
  request.list = {
      .ids = header.rows, .name = header.name, .code = memory.subspan(line, header.code_bytes)};
  return request;
}

void write_request(const row_request_header& header, std::span<const std::uint64_t> ids,
                   std::span<std::byte> memory) {
  const auto room = begin_gather(memory, static_cast<std::uint32_t>(ids.size()));
  std::copy(ids.begin(), ids.end(), room.begin());
  auto plain = header;
  plain.code_bytes = 0;
  plain.name = {};
  std::memcpy(memory.data(), &plain, sizeof plain);
}

}  // namespace tidegate::runtime
