// What a process must know again after its death: texts by key, of which the last one counts.
// So a journal is no longer than what it describes, however often that changes.
//
// A write is whole: after a crash of the process or the machine all of it is there or nothing.
// Calls block. One thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct journal_entry {
  std::string key;
  std::string value;

  friend bool operator==(const journal_entry&, const journal_entry&) = default;
};

class journal {
 public:
  virtual ~journal() = default;

  // Ascending by key. Errors: io_error, corrupt.
  virtual expected<std::vector<journal_entry>> read() = 0;
  // Durable when it returns: it survives this process, and where the journal was made for that
  // the machine. Errors: io_error, no_space; then nothing more may be written, as
  // it is not known what is there.
  virtual status write(std::span<const journal_entry> entries) = 0;
};

}  // namespace tidegate::runtime
