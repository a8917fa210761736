// A journal (runtime/base/journal.hpp) in an SQLite file: one table, a write-ahead log. One
// process at a time has it: the lock of one that was killed goes with it. Works on any file
// system that keeps its syncs, network file systems too, as no memory is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/journal.hpp"

struct sqlite3;

namespace tidegate::runtime {

// What a write that has returned survives. After a crash of the machine a journal that is to
// survive its process only is as it was some writes before, whole; it syncs now and then, the
// other kind with each write.
enum class journal_survives : std::uint8_t { process, machine };

class sqlite_journal final : public journal {
 public:
  // Makes the file if it does not exist; its folder does. Errors: io_error (another process
  // has it, no permission), no_space, corrupt (it is no journal).
  static expected<std::unique_ptr<sqlite_journal>> open(
      const std::string& path, journal_survives end = journal_survives::machine);
  ~sqlite_journal() override;
  sqlite_journal(const sqlite_journal&) = delete;
  sqlite_journal& operator=(const sqlite_journal&) = delete;

  expected<std::vector<journal_entry>> read() override;
  status write(std::span<const journal_entry> entries) override;

 private:
  explicit sqlite_journal(std::string path) : path_(std::move(path)) {}
  status open_file(journal_survives end);
  status run(const char* sql);
  status insert(std::span<const journal_entry> entries);
  status wrong(int code) const;

  std::string path_;
  sqlite3* file_ = nullptr;
};

}  // namespace tidegate::runtime
