// Work of several queues of one device as one sequence (actors/seam/work_progress.hpp): what
// has begun in any of them is a piece, and pieces end in the order of their begins.
//
// One thread, the home's. Once warm, nothing allocates.
#pragma once

#include <array>
#include <cstdint>

#include "actors/seam/work_progress.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::actors {

class joined_work {
 public:
  enum class queue : std::uint8_t { chunks, rows };

  // It outlives this.
  explicit joined_work(work_progress& into) : into_(into) {}

  // Operations of the queue up to this one have begun.
  void begin(queue of, std::uint64_t last);
  // Likewise: have ended.
  void end(queue of, std::uint64_t last);
  // Something has begun that never ends, so that its owner is looked at, and tells.
  void begin_endless();

 private:
  struct piece {
    std::size_t of = 0;
    std::uint64_t last = 0;
  };

  static constexpr std::size_t queues = 2;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  work_progress& into_;
  runtime::fifo<piece> begun_;  // and not ended
  std::array<std::uint64_t, queues> begun_last_{};
  std::array<std::uint64_t, queues> ended_last_{};
};

}  // namespace tidegate::actors
