// Writes a shard's part of a checkpoint on a thread of its own, so that the shard goes on. One
// file at a time. Used from one thread; `done` is called on the other, and may hold the owner.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "policies/checkpoint/file_writer.hpp"

namespace tidegate::actors {

class part_writer {
 public:
  // Opens the folder that the file is written to.
  using folder_opener = std::function<runtime::expected<std::unique_ptr<runtime::storage>>()>;
  using completion = std::function<void(runtime::expected<policies::written_file>)>;

  part_writer() = default;
  ~part_writer() { wait(); }
  part_writer(const part_writer&) = delete;
  part_writer& operator=(const part_writer&) = delete;

  // `open` is called on the other thread. What `file` reads must stay until done.
  void start(folder_opener open, policies::file_writer file, completion done);
  void wait();

 private:
  std::thread thread_;
};

}  // namespace tidegate::actors
