// Writes manifests on a thread of its own, in order, so that a coordinator goes on while a disk
// or a network takes its time. Used from one thread, its owner's, unless a function says
// otherwise. Its end waits for what is being written; what has not begun by then is left.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

class manifest_writer {
 public:
  using done = std::function<void(const runtime::status&)>;
  struct work {
    std::function<runtime::status()> write;  // on the other thread
    std::function<void()> tidy;              // there, too, when it has been written
    done then;                               // on the owner's thread
  };

  // `ended`: called on the other thread when there is something to deliver.
  explicit manifest_writer(std::function<void()> ended);
  ~manifest_writer();
  manifest_writer(const manifest_writer&) = delete;
  manifest_writer& operator=(const manifest_writer&) = delete;

  void add(work next);
  // Calls `then` of all that have been written, or have failed.
  void deliver();

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
  std::thread thread_;  // begins with the first
};

}  // namespace tidegate::actors
