// What a member of a job that clips by the global norm says to shards about it, a worker or an
// aggregator before them: which frames follow from what shards have told (norm_book.hpp).
// Members below an aggregator hear nothing of norms.
//
// Plain state; whoever owns it gives the messages their addresses. One thread. Once warm,
// nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/consistency/norm_book.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

class norm_exchange {
 public:
  // A frame to be sent to one shard: `norm`, the sum of a clock, or `norm_part`, the question
  // what it knows of it.
  struct message {
    std::uint32_t shard = 0;
    runtime::frame_kind kind = runtime::frame_kind::norm;
    std::uint64_t clock = 0;
    double squares = 0.0;  // of norm
  };
  using messages = std::vector<message>;  // valid until the next call

  // Returns true for the frames that take() is for: norm_part and norm.
  static bool is_of_norm(const runtime::frame_header& header);

  // Adds a table of so many chunks. Adding it again changes nothing.
  void add_table(std::uint32_t table, std::size_t chunks) { book_.add_table(table, chunks); }
  // Adds up from now on: the tables are all that the job has. Returns what is to be sent to so
  // many shards, once.
  const messages& begin(std::uint32_t shards);
  // Takes in a frame of a shard, in its present epoch. Returns what is to be sent. A shard that
  // tells a part again may not have heard the sum.
  const messages& take(const runtime::frame_header& header, std::uint32_t shards);
  // Forgets the parts of a chunk whose shard is another process now, which tells them anew.
  void forget(std::uint32_t table, std::uint32_t chunk) { book_.forget_parts(table, chunk); }

 private:
  void append(runtime::frame_kind kind, std::uint32_t shard, std::uint64_t clock);
  void append_all(runtime::frame_kind kind, std::uint64_t clock, std::uint32_t shards);

  norm_book book_;
  messages messages_;  // of the last call
};

}  // namespace tidegate::policies
