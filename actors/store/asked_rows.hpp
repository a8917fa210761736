// What a worker asks of one part: certain rows, a page of all, what a function makes of them;
// and the coded form of a request for certain rows, which is written
// when it is first sent to a shard on another host. One thread at a time: the session's writes,
// the reactor's sends. What has been sent stays mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policies/worker/known_lists.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/parts/cache_lines.hpp"

namespace tidegate::actors {

class asked_rows {
 public:
  // Begins a request for so many rows, whose ids the caller writes.
  std::span<std::uint64_t> begin(std::uint32_t rows) {
    is_coded_ = false;
    return runtime::begin_gather(plain_.resize(runtime::gather_request_bytes(rows)), rows);
  }
  void write_scan(std::uint32_t rows_max, std::optional<std::uint64_t> after) {
    runtime::write_scan(plain_.resize(runtime::scan_request_bytes), rows_max, after);
  }
  void write_call(std::span<const std::byte> call) {
    runtime::write_call(plain_.resize(runtime::call_request_bytes), call);
  }
  std::span<const std::uint64_t> ids() const {
    return runtime::checked_row_request(plain_.bytes()).ids;
  }

  // Returns the list of the ids, which the request is sent with to another host. `key`: of
  // names.
  policies::sent_list list(std::uint64_t key) {
    if (!is_coded_) {
      const auto room = coded_.resize(runtime::coded_request_bytes_max(ids().size()));
      forms_ = runtime::id_coder::encode_request(plain_.bytes(), room, key);
      is_coded_ = true;
    }
    return {.name = forms_.name, .bytes = runtime::list_bytes(forms_.code_bytes)};
  }
  // Returns the request as it is sent: as it is, or coded after list(), with the list or its
  // name. ask_values() and ask_changes() write to each.
  std::span<std::byte> plain() { return plain_.bytes(); }
  std::span<std::byte> coded(bool names_list) const {
    return names_list ? forms_.with_name : forms_.with_list;
  }

 private:
  runtime::cache_lines plain_;
  runtime::cache_lines coded_;
  runtime::coded_forms forms_;
  bool is_coded_ = false;
};

}  // namespace tidegate::actors
