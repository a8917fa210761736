// Where the chunks of tables live: chunk -> shard, balanced by bytes, not by count.
//
// Every chunk but the last of a table holds `chunk_bytes`; chunks never span tables. Placement
// is deterministic in the order of calls, and sticky: adding a table moves nothing. A batch of
// tables is placed largest chunk first onto the least loaded shard (LPT, Graham 1969), which
// keeps shards within one chunk of each other. Value type, no thread rule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/spec.hpp"

namespace tidegate::policies {

struct chunk_place {
  std::uint32_t chunk = 0;     // index within its table
  std::uint32_t shard = 0;     // 0 .. shards - 1
  std::uint64_t first = 0;     // first element
  std::uint64_t elements = 0;  // float32 elements

  friend bool operator==(const chunk_place&, const chunk_place&) = default;
};

// The chunks of one table in element order.
using table_places = std::vector<chunk_place>;

class placement {
 public:
  // shards >= 1; chunk_bytes a multiple of 64 and >= 64 (asserted; launch/ validates user
  // input).
  placement(std::uint32_t shards, std::uint64_t chunk_bytes);

  // Places tables, each of one element at least. Returns the places of each, in the same order.
  // A part of a table of rows is a chunk of one element, and weighs what all its rows would.
  std::vector<table_places> add(std::span<const table_spec> tables);

  std::uint32_t shards() const noexcept;
  // Returns the bytes of parameters on each shard so far. Valid as long as this object.
  const std::vector<std::uint64_t>& load_bytes() const noexcept { return load_bytes_; }

 private:
  std::uint64_t chunk_bytes_;
  std::vector<std::uint64_t> load_bytes_;
};

}  // namespace tidegate::policies
