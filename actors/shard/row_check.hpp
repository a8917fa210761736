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

namespace tidegate::actors {

// Returns true if a push, a call or a step has brought rows that its part takes, or is of no
// such part: then the core says what is wrong. `sender` is for the log.
inline bool holds_rows(const policies::shard_core& shard, const ingress_memory& memory,
                       shell_home& home, const runtime::frame_header& header,
                       std::span<const std::byte> bytes, const char* sender) {
  using kind = runtime::frame_kind;
  const bool may =
      header.kind == kind::push || header.kind == kind::call || header.kind == kind::step;
  if (!may || bytes.empty() || !shard.registry().has_rows(header.table)) return true;
  const auto slot = shard.registry().find_slot(header.job, header.table, header.chunk);
  if (!slot) return true;
  const auto checked = memory.check_rows(header, *slot, bytes);
  if (!checked.ok())
    home.log(severity::warning, std::string(sender) + " (rank " +
                                    std::to_string(header.worker) +
                                    ") sent rows that are refused: " + checked.message());
  return checked.ok();
}

}  // namespace tidegate::actors
