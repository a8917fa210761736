// What a push or a call sends. A plain view of its sender's memory.
#pragma once

#include <cstddef>
#include <span>

namespace tidegate::actors {

struct sent_payload {
  std::span<const std::byte> bytes;
  bool is_coded = false;  // the ids of its rows are (runtime/batches/coded_rows.hpp)
};

}  // namespace tidegate::actors
