#include "actors/store/row_intake.hpp"

#include <algorithm>

#include "runtime/base/buggify.hpp"

namespace tidegate::actors {

using runtime::errc;
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

// The name of a list that comes is not taken on trust: who has another key, or counts
// otherwise, is told at once.
runtime::expected<std::span<const std::uint64_t>> row_intake::ids_of(
    const runtime::coded_list& list, const lists& from) {
  auto code = list.code;
  if (list.is_named()) {
    const auto kept = from.kept.find(list.name, list.ids);
    if (!kept || TIDEGATE_BUGGIFY("rows: a list of ids is not kept"))
      return runtime::fail(errc::not_found, "a list of ids is named that is not kept");
    code = *kept;
  }
  auto ids = coder_.decode(code, list.ids);
  if (!ids || list.is_named()) return ids;
  if (runtime::name_list(*ids, from.key) != list.name)
    return runtime::fail(errc::corrupt, "a list of ids has the name of another");
  from.kept.keep(list.name, list.ids, code);
  return ids;
}

status row_intake::take_batch(runtime::buffer& rows, std::uint32_t dim, const lists& from) {
  const auto coded = runtime::read_coded_batch(rows.bytes(), dim);
  if (!coded) return coded.error();
  const auto ids = ids_of(coded->list, from);
  if (!ids) return ids.error();
  const auto front = runtime::row_batch_values(ids->size());
  rows = rows.with_begin_at(static_cast<std::ptrdiff_t>(coded->values_at) -
                            static_cast<std::ptrdiff_t>(front));
  const auto room = runtime::begin_row_batch(rows.bytes(), coded->list.ids, dim);
  std::copy(ids->begin(), ids->end(), room.ids.begin());
  return {};
}

status row_intake::take_request(runtime::buffer& rows, const lists& from) {
  const auto coded = runtime::read_coded_request(rows.bytes());
  if (!coded) return coded.error();
  const auto ids = ids_of(coded->list, from);
  if (!ids) return ids.error();
  auto plain = lease(runtime::gather_request_bytes(ids->size()));
  if (!plain) return {runtime::errc::over_limit, "no memory for a request of rows"};
  runtime::write_request(coded->header, *ids, plain.bytes());
  rows = std::move(plain);
  return {};
}

}  // namespace tidegate::actors
