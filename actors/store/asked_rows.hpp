// The request of a worker for certain rows of one part, and its coded form, which is written
// when it is first sent to a shard on another host. One thread at a time: the session's writes,
// the reactor's sends. What has been sent stays mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "actors/seam/sent_payload.hpp"
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
  std::span<const std::uint64_t> ids() const {
    return runtime::checked_row_request(plain_.bytes()).ids;
  }

  // Returns the request as it is to be sent, of certain rows in the form that their shard is to
  // have. ask_values() and ask_changes() write to either.
  std::span<std::byte> plain() { return plain_.bytes(); }
  std::span<std::byte> in_form(bool is_here) {
    if (is_here) return plain_.bytes();
    if (!is_coded_) {
      const auto rows = static_cast<std::uint32_t>(ids().size());
      const auto room = coded_.resize(runtime::coded_request_bytes_max(rows));
      coded_request_ = runtime::id_coder::encode_request(plain_.bytes(), room);
      is_coded_ = true;
    }
    return coded_request_;
  }

 private:
  runtime::cache_lines plain_;
  runtime::cache_lines coded_;
  std::span<std::byte> coded_request_;
  bool is_coded_ = false;
};

}  // namespace tidegate::actors
