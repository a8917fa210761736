// The batch that a worker pushes to one part of a table of rows. It is sent with its ids as
// they are, or coded to a shard on another host: as the first send wants it, since what is sent
// may be read until the push is acknowledged. Either form is right for every shard.
//
// One thread at a time: the session's writes, the reactor's sends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "actors/seam/sent_payload.hpp"
#include "policies/worker/known_lists.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/parts/cache_lines.hpp"

namespace tidegate::actors {

class pushed_batch {
 public:
  // Returns memory for the next batch, row_batch_bytes(rows, dim); the one before is
  // acknowledged.
  std::span<std::byte> begin(std::uint32_t rows, std::uint32_t dim) {
    const auto bytes = runtime::row_batch_bytes(rows, dim);
    const auto front = runtime::batch_front_bytes_max(rows) - runtime::row_batch_values(rows);
    room_ = memory_.resize(front + bytes);
    batch_ = room_.last(bytes);
    is_sent_ = is_coded_ = false;
    return batch_;
  }

  // The batch is sent next, with its ids as they are (`is_plain`) or coded, if it is the first
  // time. Returns the list of its ids, where they are coded. `key`: of names.
  std::optional<policies::sent_list> list(bool is_plain, runtime::id_coder& coder,
                                          std::uint64_t key) {
    if (!is_sent_ && !is_plain) {
      forms_ = coder.encode_batch(room_, batch_, key);
      is_coded_ = true;
    }
    is_sent_ = true;
    if (!is_coded_) return std::nullopt;
    return policies::sent_list{.name = forms_.name,
                               .bytes = runtime::list_bytes(forms_.code_bytes)};
  }
  // Returns what is sent, with the list of its ids or with the name of the list.
  sent_payload payload(bool names_list) const {
    if (!is_coded_) return {.bytes = batch_};
    return {.bytes = names_list ? forms_.with_name : forms_.with_list, .is_coded = true};
  }

 private:
  runtime::cache_lines memory_;
  std::span<std::byte> room_;   // for either form
  std::span<std::byte> batch_;  // at its end, with ids as they are
  runtime::coded_forms forms_;
  bool is_sent_ = false;
  bool is_coded_ = false;
};

}  // namespace tidegate::actors
