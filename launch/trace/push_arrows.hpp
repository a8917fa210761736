// Arrows of a trace: from a call that pushes over the frame that brings it to a shard and the
// step that it is in, to the answer, or to the end of the wait, that ends it. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/trace/event_writer.hpp"
#include "launch/trace/span_names.hpp"
#include "launch/trace/traced_process.hpp"

namespace tidegate::launch {

class push_arrows {
 public:
  // `processes` outlives it.
  explicit push_arrows(const std::vector<traced_process>& processes);

  void write(event_writer& into);

 private:
  struct place {
    std::size_t process = 0;
    const runtime::trace_span* span = nullptr;  // null: nothing was found
  };
  using places = std::vector<place>;
  using job_clock = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;
  using process_clock = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;

  template <class Key>
  static const places* find(const std::map<Key, places>& in, const Key& key) {
    const auto at = in.find(key);
    return at == in.end() ? nullptr : &at->second;
  }
  static place last_before(const places* all, const runtime::trace_span& frame);
  place begin_of(std::size_t at, const runtime::trace_span& frame) const;
  place step_of(std::size_t at, const runtime::trace_span& frame) const;
  place answer_of(std::size_t at, const runtime::trace_span& frame) const;
  place wait_of(std::size_t worker, std::int64_t from_ns) const;
  bool is_relayed(std::size_t at, const runtime::trace_span& frame) const;
  void write(std::size_t at, const runtime::trace_span& frame, event_writer& into);

  const std::vector<traced_process>& processes_;
  std::map<job_clock, places> pushes_, answers_;  // by job, rank and clock
  std::map<process_clock, places> steps_;         // by process, job and clock
  std::map<std::size_t, std::uint32_t> shards_;   // whose chunks a process steps
  std::map<std::size_t, places> waits_;           // of workers with one shard, by process
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> aggregators_;  // of ranks
  std::set<std::uint64_t> aggregated_;                                          // jobs
  std::uint64_t last_ = 0;
};

}  // namespace tidegate::launch
