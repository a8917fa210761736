#include "policies/shard/replication_core.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

void replication_core::table_opened(std::uint64_t token, std::uint32_t table) {
  state_.feeder.lend(token, table);
  state_.receiver.table_opened();
}

bool replication_core::is_mine(const frame_header& header) {
  return header.kind == frame_kind::step || header.kind == frame_kind::seed ||
         header.kind == frame_kind::farewell || header.kind == frame_kind::followed ||
         header.kind == frame_kind::lend || header.kind == frame_kind::lent ||
         header.kind == frame_kind::steps ||
         ((header.kind == frame_kind::resend || header.kind == frame_kind::resent) &&
          header.job == 0);
}

void replication_core::frame(const frame_header& header, payload_handle payload) {
  if (header.kind == frame_kind::resend || header.kind == frame_kind::resent)
    return state_.links.on_resend(header);
  if (header.kind == frame_kind::lent) return state_.feeder.on_lent(header);
  if (header.kind == frame_kind::followed) return state_.feeder.on_followed(header);
  state_.receiver.frame(header, payload);
}

}  // namespace tidegate::policies
