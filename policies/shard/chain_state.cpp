#include "policies/shard/chain_state.hpp"

#include "policies/protocol/frame_tags.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_header;
using runtime::frame_kind;

void chain_state::carry_out_all() {
  for (const auto job : shard.registry().all_jobs()) ingress.about_job(job, [](auto&) {});
}

frame_header chain_state::header_for(frame_kind kind, std::uint32_t view,
                                     std::uint32_t slot) const {
  auto header = header_of(kind, shard.registry().name_of(slot), reply_code::ok);
  header.epoch = view;
  return header;
}

std::span<const std::uint32_t> chain_state::run_of(const frame_header& header) const {
  if (!shard.registry().has_table(header.job, header.table)) return {};
  const auto slots = shard.registry().slots_of(header.table);
  if (header.chunk > slots.size() || header.count > slots.size() - header.chunk) return {};
  return slots.subspan(header.chunk, header.count);
}

}  // namespace tidegate::policies::sharding
