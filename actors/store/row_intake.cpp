#include "actors/store/row_intake.hpp"

#include <algorithm>

namespace tidegate::actors {

using runtime::status;

// Bounded by what the core admits, which has no sizes to begin with.
runtime::buffer row_intake::lease(std::size_t bytes) {
  if (auto room = pools_.lease(bytes)) return room;
  pools_.allow(bytes, 1);
  return pools_.lease(bytes);
}

// Nobody has said how many rows they are: at most as many as have room for their values.
runtime::buffer row_intake::lease_coded(std::size_t bytes, std::uint32_t dim) {
  const auto front = runtime::row_batch_values(bytes / (dim * sizeof(float)));
  const auto room = lease(front + bytes);
  return room ? room.with_begin_at(static_cast<std::ptrdiff_t>(front)) : room;
}

status row_intake::take_batch(runtime::buffer& rows, std::uint32_t dim) {
  const auto coded = runtime::read_coded_batch(rows.bytes(), dim);
  if (!coded) return coded.error();
  const auto ids = coder_.decode(coded->code, coded->rows);
  if (!ids) return ids.error();
  const auto front = runtime::row_batch_values(coded->rows);
  rows = rows.with_begin_at(static_cast<std::ptrdiff_t>(coded->values_at) -
                            static_cast<std::ptrdiff_t>(front));
  const auto room = runtime::begin_row_batch(rows.bytes(), coded->rows, dim);
  std::copy(ids->begin(), ids->end(), room.ids.begin());
  return {};
}

status row_intake::take_request(runtime::buffer& rows) {
  const auto coded = runtime::read_coded_request(rows.bytes());
  if (!coded) return coded.error();
  const auto ids = coder_.decode(coded->code, coded->header.rows);
  if (!ids) return ids.error();
  auto plain = lease(runtime::gather_request_bytes(ids->size()));
  if (!plain) return {runtime::errc::over_limit, "no memory for a request of rows"};
  runtime::write_request(coded->header, *ids, plain.bytes());
  rows = std::move(plain);
  return {};
}

}  // namespace tidegate::actors
