#include "launch/bench/team.hpp"

#include <algorithm>

#include "launch/bench/arena.hpp"
#include "launch/bench/cpus.hpp"

namespace tidegate::bench {

thread_team::thread_team(const std::vector<int>& cpus)
    : gate_(static_cast<std::ptrdiff_t>(cpus.size()) + 1),
      begin_(cpus.size()),
      end_(cpus.size()) {
  for (std::uint32_t i = 0; i < cpus.size(); ++i)
    threads_.emplace_back([this, i, cpu = cpus[i]] { serve(i, cpu); });
}

thread_team::~thread_team() {
  work_ = nullptr;
  gate_.arrive_and_wait();
  for (auto& thread : threads_) thread.join();
}

double thread_team::run(const std::function<void(std::uint32_t)>& work) {
  work_ = &work;
  gate_.arrive_and_wait();
  gate_.arrive_and_wait();
  return static_cast<double>(*std::max_element(end_.begin(), end_.end()) -
                             *std::min_element(begin_.begin(), begin_.end())) *
         1e-9;
}

void thread_team::serve(std::uint32_t index, int cpu) {
  (void)pin_this_thread(cpu).ok();
  for (;;) {
    gate_.arrive_and_wait();
    if (work_ == nullptr) return;
    begin_[index] = now_ns();
    (*work_)(index);
    end_[index] = now_ns();
    gate_.arrive_and_wait();
  }
}

}  // namespace tidegate::bench
