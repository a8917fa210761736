#include "policies/consistency/norm_exchange.hpp"

namespace tidegate::policies {

using runtime::frame_kind;

bool norm_exchange::is_of_norm(const runtime::frame_header& header) {
  return header.kind == frame_kind::norm_part || header.kind == frame_kind::norm;
}

void norm_exchange::append(frame_kind kind, std::uint32_t shard, std::uint64_t clock) {
  messages_.push_back({.shard = shard,
                       .kind = kind,
                       .clock = clock,
                       .squares = book_.sum_of(clock).value_or(0.0)});
}

void norm_exchange::append_all(frame_kind kind, std::uint64_t clock, std::uint32_t shards) {
  for (std::uint32_t shard = 0; shard < shards; ++shard) append(kind, shard, clock);
}

const norm_exchange::messages& norm_exchange::begin(std::uint32_t shards) {
  messages_.clear();
  if (book_.begin())
    book_.for_each_sum([&](auto clock) { append_all(frame_kind::norm, clock, shards); });
  return messages_;
}

const norm_exchange::messages& norm_exchange::take(const runtime::frame_header& header,
                                                   std::uint32_t shards) {
  messages_.clear();
  const auto clock = header.clock;
  if (header.kind == frame_kind::norm) {
    if (book_.add_sum(clock, header.squares)) append_all(frame_kind::norm, clock, shards);
    return messages_;
  }
  const bool again = (header.flags & runtime::frame_flag_again) != 0;
  if (book_.add_part(header.table, header.chunk, clock, header.squares))
    append_all(frame_kind::norm, clock, shards);
  else if (book_.sum_of(clock))
    append(frame_kind::norm, header.shard, clock);
  else if (again && book_.asks(header.table, header.chunk, clock))
    append_all(frame_kind::norm_part, clock, shards);
  return messages_;
}

}  // namespace tidegate::policies
