// The process that a shard's shell lives in, beside its home: the folders of checkpoints, the
// coordinator's ear, its end. One thread, the home's; nothing here waits.
#pragma once

#include <cstdint>
#include <string>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/restore_source.hpp"
#include "policies/checkpoint/rounds.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class shard_port {
 public:
  virtual ~shard_port() = default;

  // The folder of a job's checkpoints, to read. Errors: those of the storage.
  virtual runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) = 0;
  // Writes a file there beside the shell's turns, one of a job at a time, and calls
  // shard_shell::part_written() in a turn. What the file reads stays until then.
  virtual void write_part(std::uint64_t token, const std::string& job,
                          policies::file_writer file) = 0;
  // Tells the coordinator.
  virtual void report(const policies::checkpoint_report& part) = 0;
  // Whether workers wait for what this process does: a replica gives way to others.
  virtual void give_way(bool yes) = 0;
  // Another process has taken its place: it ends.
  virtual void leave() = 0;
  // Its memory is of no use any more, and why: it ends, as if it had been killed.
  virtual void give_up(const runtime::status& why) = 0;
};

}  // namespace tidegate::actors
