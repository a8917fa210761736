// Writes texts on a thread of its own: a reader that stands still (Ctrl-S, a pager, a
// connection that is half open) holds up the thread alone, and not a loop that has signs of
// life to give.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace tidegate::launch {

class output_writer {
 public:
  output_writer() = default;
  output_writer(const output_writer&) = delete;
  output_writer& operator=(const output_writer&) = delete;
  // Waits until all is written, or the readers are gone.
  ~output_writer();

  // Writes the text to `fd` after those before it. Never blocks: whoever has much to say asks
  // is_behind() first.
  void write(int fd, std::string text);
  // Returns once all is written, or the readers are gone.
  void drain();
  // Returns true if more than a pipe holds is not written yet.
  bool is_behind() const;

 private:
  struct piece {
    int fd = -1;
    std::string text;
  };

  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<piece> unwritten_;  // the first is being written
  std::size_t bytes_ = 0;        // of them
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tidegate::launch
