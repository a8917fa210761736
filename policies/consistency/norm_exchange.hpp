// What an aggregator before the shards says of the norm of the whole gradient, in jobs that
// clip by it: to shards it is a member like a worker (consistency/norm_book.hpp). Those below
// others hear nothing of norms.
//
// Plain state; the core gives the frames their addresses. One thread. Once warm, nothing
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/consistency/norm_book.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

class upstream_norms {
 public:
  // A frame to be sent to one shard: the sum of a clock, or the question what it knows of it.
  struct message {
    std::uint32_t shard = 0;
    bool is_sum = false;
    std::uint64_t clock = 0;
    double squares = 0.0;  // of a sum
  };

  // Returns true for the frames that take() is for: norm_part and norm.
  static bool is_of_norm(const runtime::frame_header& header);

  void add_table(std::uint32_t table, std::size_t chunks) { book_.add_table(table, chunks); }
  // The tables are all that members will push. Returns what is to be sent to so many shards.
  const std::vector<message>& begin(std::uint32_t shards);
  // Takes in a frame of a shard, in its present epoch. Returns what is to be sent.
  const std::vector<message>& take(const runtime::frame_header& header, std::uint32_t shards);
  // Forgets the part of a chunk whose shard is another process now, which tells it anew.
  void forget(std::uint32_t table, std::uint32_t chunk) { book_.forget_parts(table, chunk); }

 private:
  void append(bool is_sum, std::uint32_t shard, std::uint64_t clock);
  void append_all(bool is_sum, std::uint64_t clock, std::uint32_t shards);

  norm_book book_;
  std::vector<message> messages_;  // of the last call
};

}  // namespace tidegate::policies
