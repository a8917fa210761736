// What an aggregator says of the norm of the whole gradient, in jobs that clip by it.
#include "policies/aggregator/core.hpp"

namespace tidegate::policies {

using kind = upstream_frame::type;
using runtime::frame_kind;

bool aggregator_core::is_of_norm(const runtime::frame_header& header) {
  return header.kind == frame_kind::norm_part || header.kind == frame_kind::norm;
}

upstream_frame aggregator_core::norm_frame(kind of, std::uint32_t shard,
                                           std::uint64_t clock) const {
  auto frame = farewell_frame(shard, 0);
  frame.kind = of;
  frame.tag.clock = clock;
  if (const auto sum = norms_.sum_of(clock)) frame.squares = *sum;
  return frame;
}

void aggregator_core::tell_norm(std::uint64_t clock, std::vector<upstream_frame>& out) const {
  for (std::uint32_t shard = 0; shard < job_.upstream_epochs.size(); ++shard)
    out.push_back(norm_frame(kind::norm, shard, clock));
}

void aggregator_core::on_norm(const runtime::frame_header& header,
                              std::vector<upstream_frame>& out) {
  const auto shard = std::uint32_t{header.shard};
  if (!is_open() || header.job != job_.token || shard >= job_.upstream_epochs.size() ||
      header.epoch != job_.upstream_epochs[shard])
    return;
  const auto clock = header.clock;
  if (header.kind == frame_kind::norm) {
    if (norms_.add_sum(clock, header.squares)) tell_norm(clock, out);
    return;
  }
  const bool again = (header.flags & runtime::frame_flag_again) != 0;
  switch (norms_.take_part(header.table, header.chunk, clock, header.squares, again)) {
    case norm_answer::none:
      return;
    case norm_answer::sum_to_shard:
      out.push_back(norm_frame(kind::norm, shard, clock));
      return;
    case norm_answer::sum_to_all:
      return tell_norm(clock, out);
    case norm_answer::question:
      for (std::uint32_t each = 0; each < job_.upstream_epochs.size(); ++each)
        out.push_back(norm_frame(kind::norm_part, each, clock));
  }
}

}  // namespace tidegate::policies
