// Conversions between tags, by which a core names pushes and pulls, and the headers of frames.
// Pure, any thread.
#pragma once

#include <optional>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

inline frame_tag tag_of(const runtime::frame_header& header) {
  return {.job = header.job,
          .epoch = header.epoch,
          .incarnation = header.incarnation,
          .rank = header.worker,
          .table = header.table,
          .chunk = header.chunk,
          .clock = header.clock,
          .request = header.request,
          .rate = header.rate};
}

inline runtime::frame_header header_of(runtime::frame_kind kind, const frame_tag& tag,
                                       reply_code code) {
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
  header.rate = tag.rate;
  return header;
}

// Returns true for answers to pulls and calls.
inline bool answers_pull(const runtime::frame_header& header) {
  return header.kind == runtime::frame_kind::pull_reply ||
         header.kind == runtime::frame_kind::call_reply;
}

// Returns true if a push or a call of rows has their ids coded.
inline bool is_coded(const runtime::frame_header& header) {
  return (header.kind == runtime::frame_kind::push ||
          header.kind == runtime::frame_kind::call) &&
         (header.flags & runtime::frame_flag_coded) != 0;
}

// Returns, as a frame of its own, the acknowledgement in a reply: that the push of the clock
// before is applied; nothing if the reply does not say so. For a reply that is given no place,
// because another has answered the pull: nothing else acknowledges that push.
inline std::optional<runtime::frame_header> acknowledgement_in(
    const runtime::frame_header& reply) {
  if (!answers_pull(reply) || (reply.flags & runtime::frame_flag_applied) == 0) return {};
  auto header = reply;
  header.kind = runtime::frame_kind::push_ack;
  header.flags = 0;
  header.payload_bytes = 0;
  --header.clock;
  return header;
}

}  // namespace tidegate::policies
