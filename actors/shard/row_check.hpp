// A look at the rows that a frame has brought, before anybody relies on them. One thread, the
// home's.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "actors/seam/ingress_memory.hpp"
#include "actors/seam/shell_home.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/memory/buffer.hpp"

namespace tidegate::actors {

// Returns a place for the rows of a push, a call or a step; empty if memory is short.
inline runtime::buffer lease_rows(const policies::shard_core& shard, ingress_memory& memory,
                                  const runtime::frame_header& header) {
  const auto slot = shard.registry().find_slot(header.job, header.table, header.chunk);
  return slot ? memory.lease_rows(header, *slot) : runtime::buffer();
}

// Returns ok if a push, a call or a step has brought rows that its part takes, or is of no such
// part: then the core says what is wrong. Coded rows are as they were before, then. Errors:
// corrupt, over_limit (memory is short), not_found (a list of ids is named that is not kept).
// `sender` is for the log.
inline runtime::errc take_rows(const policies::shard_core& shard, ingress_memory& memory,
                               shell_home& home, const runtime::frame_header& header,
                               runtime::buffer& payload, const char* sender) {
  using kind = runtime::frame_kind;
  const bool may =
      header.kind == kind::push || header.kind == kind::call || header.kind == kind::step;
  if (!may || !payload || !shard.registry().has_rows(header.table)) return runtime::errc::ok;
  const auto slot = shard.registry().find_slot(header.job, header.table, header.chunk);
  if (!slot) return runtime::errc::ok;
  const auto taken = memory.take_rows(header, *slot, payload);
  if (!taken.ok() && taken.code() != runtime::errc::not_found)
    home.log(severity::warning, std::string(sender) + " (rank " +
                                    std::to_string(header.worker) +
                                    ") sent rows that are refused: " + taken.message());
  return taken.code();
}

}  // namespace tidegate::actors
