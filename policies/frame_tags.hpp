// Between tags, by which a core names pushes and pulls, and the headers of their frames.
#pragma once

#include "policies/protocol.hpp"
#include "policies/shard_core.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

inline frame_tag tag_of(const runtime::frame_header& header) {
  return {header.job,   header.epoch, header.incarnation, header.worker,
          header.table, header.chunk, header.clock,       header.request};
}

inline runtime::frame_header header_of(runtime::frame_kind kind, const frame_tag& tag,
                                       refusal code) {
  runtime::frame_header header;
  header.kind = kind;
  header.job = tag.job;
  header.epoch = tag.epoch;
  header.incarnation = tag.incarnation;
  header.worker = tag.rank;
  header.table = tag.table;
  header.chunk = tag.chunk;
  header.code = static_cast<std::uint32_t>(code);
  header.clock = tag.clock;
  header.request = tag.request;
  return header;
}

}  // namespace tidegate::policies
