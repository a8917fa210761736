// Pinned threads that do a piece of work together, again and again. Created and used by one
// thread.
#pragma once

#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tidegate::bench {

class thread_team {
 public:
  // One thread per core; cores that cannot be pinned to are used as they come.
  explicit thread_team(const std::vector<int>& cpus);
  ~thread_team();
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(threads_.size()); }
  // Runs work(0) ... work(size - 1), each on its thread; seconds from the first begin to the
  // last end.
  double run(const std::function<void(std::uint32_t)>& work);

 private:
  void serve(std::uint32_t index, int cpu);

  std::barrier<> gate_;
  const std::function<void(std::uint32_t)>* work_ = nullptr;  // null at a gate: go home
  std::vector<std::int64_t> begin_;
  std::vector<std::int64_t> end_;
  std::vector<std::thread> threads_;
};

}  // namespace tidegate::bench
