// What a member of a job that clips by the global norm, a worker or an aggregator before the
// shards, adds up: the squares that the chunks of a clock have told, in the order of tables and
// chunks, so that all members get the same bits. The sum is known when every chunk has told its
// part, or when a shard that has made the step says so.
//
// As a rule shards are two clocks apart at most. Where those who pushed a clock have left for
// good, a chunk may wait for its sum while members that joined later are clocks ahead, so that
// more clocks have a place here.
//
// Plain state; whoever owns it tells shards. One thread. Once warm, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tidegate::policies {

class norm_book {
 public:
  static constexpr std::size_t clocks_max = 16;

  norm_book() { clocks_.reserve(clocks_max); }

  // Adds a table of so many chunks. Adding it again changes nothing.
  void add_table(std::uint32_t table, std::size_t chunks);
  // Adds up from now on: the tables are all that the job has. Returns false if that was known.
  bool begin();
  // Takes in a chunk's part of a clock. Returns true if the sum of the clock is known since.
  // Parts of unknown chunks change nothing.
  bool add_part(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock, double squares);
  // Forgets the parts of a chunk whose shard is another process now, which tells them anew.
  void forget_parts(std::uint32_t table, std::uint32_t chunk);
  // Takes in the sum of a clock. Returns true if it was not known.
  bool add_sum(std::uint64_t clock, double squares);
  // Returns the sum of the squares of the whole gradient of a clock, if it is known.
  std::optional<double> sum_of(std::uint64_t clock) const;
  // Calls call(clock) for each clock whose sum is known and kept.
  template <class Call>
  void for_each_sum(const Call& call) const {
    for (const auto& record : clocks_)
      if (record.is_known) call(record.clock);
  }
  // Returns true if shards are to be asked what they know of a clock, as this chunk, which
  // waits for the sum, has told its part again: the first time, and when a chunk has told it
  // twice since they were asked.
  bool asks(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock);

 private:
  struct part {
    bool is_here = false;
    bool is_repeated = false;  // since shards were asked
    double squares = 0.0;
  };
  using chunk_parts = std::map<std::uint32_t, std::vector<part>>;  // by table
  struct clock_record {
    std::uint64_t clock = 0;
    std::size_t missing = 0;  // parts
    bool has_asked = false;
    bool is_known = false;
    double sum = 0.0;
    chunk_parts parts;
  };

  const clock_record* find(std::uint64_t clock) const;
  clock_record& at(std::uint64_t clock);
  clock_record& room(std::uint64_t clock);
  part* part_of(clock_record& record, std::uint32_t table, std::uint32_t chunk);
  bool add_up(clock_record& into) const;

  bool has_begun_ = false;
  std::vector<clock_record> clocks_;
  std::map<std::uint32_t, std::size_t> tables_;  // how many chunks they have
};

}  // namespace tidegate::policies
