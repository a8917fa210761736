// A thread that makes pages of growing tables before they are needed: a huge page takes the
// kernel from 0.3 to some 10 ms, in which a shard's own thread would answer nobody. What it has
// been asked for and has not made in time appears when it is touched, page by page.
//
// The tables of a process share it, and it ends with the last of them. It runs where the thread
// may that asks first: on a core of its own where the process has one. Any thread.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/memory/segment.hpp"

namespace tidegate::runtime::rows {

class page_maker {
 public:
  // Returns that of this process. The first caller makes it.
  static std::shared_ptr<page_maker> of_process();

  page_maker() = default;
  ~page_maker();
  page_maker(const page_maker&) = delete;
  page_maker& operator=(const page_maker&) = delete;

  // Has the pages of [offset, offset + bytes) made soon, unless the memory is gone by then.
  // Returns false if it has too much to do already, or no thread can be had: then nothing is
  // done. Allocates nothing after the first time.
  bool ask(const std::shared_ptr<const segment>& memory, std::uint64_t offset,
           std::uint64_t bytes);
  // Blocks until all that was asked for is made. For tests.
  void wait();

  // So that what was asked for is made within some tenths of a second.
  static constexpr std::size_t asked_max = 32;

 private:
  struct pages {
    std::weak_ptr<const segment> memory;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  bool start();
  void run();

  std::mutex mutex_;  // guards all of the below; not held while pages are made
  std::condition_variable changed_;
  // The ring has what was put and not done, numbered from the first that was asked for.
  std::array<pages, asked_max> asked_;
  std::uint64_t done_ = 0;
  std::uint64_t put_ = 0;
  bool ends_ = false;
  bool has_failed_ = false;  // no thread could be had
  std::thread thread_;       // starts when it is asked first
};

}  // namespace tidegate::runtime::rows
