#include "policies/aggregator/upstream_norms.hpp"

namespace tidegate::policies {

using runtime::frame_kind;

bool upstream_norms::is_of_norm(const runtime::frame_header& header) {
  return header.kind == frame_kind::norm_part || header.kind == frame_kind::norm;
}

void upstream_norms::append(bool is_sum, std::uint32_t shard, std::uint64_t clock) {
  messages_.push_back({.shard = shard,
                       .is_sum = is_sum,
                       .clock = clock,
                       .squares = book_.sum_of(clock).value_or(0.0)});
}

void upstream_norms::append_all(bool is_sum, std::uint64_t clock, std::uint32_t shards) {
  for (std::uint32_t shard = 0; shard < shards; ++shard) append(is_sum, shard, clock);
}

const std::vector<upstream_norms::message>& upstream_norms::begin(std::uint32_t shards) {
  messages_.clear();
  if (book_.begin())
    book_.for_each_sum([&](std::uint64_t clock) { append_all(true, clock, shards); });
  return messages_;
}

const std::vector<upstream_norms::message>& upstream_norms::take(
    const runtime::frame_header& header, std::uint32_t shards) {
  messages_.clear();
  const auto clock = header.clock;
  if (header.kind == frame_kind::norm) {
    if (book_.add_sum(clock, header.squares)) append_all(true, clock, shards);
    return messages_;
  }
  const bool again = (header.flags & runtime::frame_flag_again) != 0;
  switch (book_.take_part(header.table, header.chunk, clock, header.squares, again)) {
    case norm_answer::none:
      break;
    case norm_answer::sum_to_shard:
      append(true, header.shard, clock);
      break;
    case norm_answer::sum_to_all:
      append_all(true, clock, shards);
      break;
    case norm_answer::question:
      append_all(false, clock, shards);
      break;
  }
  return messages_;
}

}  // namespace tidegate::policies
