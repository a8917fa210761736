// What a member of a job that clips by the global norm adds up: the squares that the chunks of
// a clock have told, in the order of tables and chunks, so that all members get the same bits.
// The sum is known when every chunk has told its part, or when a shard that has made the step
// says so.
//
// Plain state; whoever owns it tells shards. One thread. Allocates for the first
// parts of a table alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {

class norm_book {
 public:
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  norm_book();

  // Adds a table of so many chunks. Adding it again changes nothing.
  void add_table(std::uint32_t table, std::size_t chunks);
  // Adds up from now on: the tables are all that the job has. Returns false if that was known.
  bool begin();
  // Takes in a chunk's part of a clock. Returns true if the sum of the clock is known since.
  // Parts of unknown chunks, and of clocks that others have followed, change nothing.
  bool add_part(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock, double squares);
  // Takes in the sum of a clock. Returns true if it was not known.
  bool add_sum(std::uint64_t clock, double squares);
  // Returns the sum of the squares of the whole gradient of a clock, if it is known.
  std::optional<double> sum_of(std::uint64_t clock) const;
  // Returns the clocks that parts or sums have come of last.
  auto clocks() const {
    std::array<std::uint64_t, window> last{};
    for (std::size_t i = 0; i < window; ++i) last[i] = clocks_[i].clock;
    return last;
  }
  // Returns true if shards are to be asked what they know of a clock: this chunk, which waits
  // for the sum, has told its part again, and was the first to do so. Once a round, as all
  // chunks that wait do it.
  bool asks(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock);

 private:
  struct clock_record {
    std::uint64_t clock = 0;
    std::size_t missing = 0;                                      // parts
    std::optional<std::pair<std::uint32_t, std::uint32_t>> asks;  // table and chunk
    bool is_known = false;
    double sum = 0.0;
  };
  struct part {
    bool is_here = false;
    double squares = 0.0;
  };
  struct table_record {
    std::size_t chunks = 0;
    std::array<std::vector<part>, window> parts;  // by clock modulo window; empty: none yet
  };

  clock_record* begin(std::uint64_t clock);
  bool add_up(clock_record& into);

  bool has_begun_ = false;
  std::array<clock_record, window> clocks_;
  std::map<std::uint32_t, table_record> tables_;
};

}  // namespace tidegate::policies
