#include "runtime/storage/sqlite_journal.hpp"

#include <sqlite3.h>
#include <utility>

namespace tidegate::runtime {

namespace {

constexpr int wait_for_lock_ms = 5000;  // until one that was killed is gone

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using statement = std::unique_ptr<sqlite3_stmt, finalizer>;

std::string column(sqlite3_stmt* row, int at) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, at));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, at)))
               : std::string();
}

int bind(sqlite3_stmt* to, int at, const std::string& bytes) {
  return sqlite3_bind_blob64(to, at, bytes.data(), bytes.size(), SQLITE_STATIC);
}

}  // namespace

expected<std::unique_ptr<sqlite_journal>> sqlite_journal::open(const std::string& path,
                                                               journal_survives end) {
  std::unique_ptr<sqlite_journal> journal(new sqlite_journal(path));
  if (auto opened = journal->open_file(end); !opened.ok()) return fail(std::move(opened));
  return journal;
}

status sqlite_journal::open_file(journal_survives end) {
  const int opened = sqlite3_open_v2(
      path_.c_str(), &file_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  if (opened != SQLITE_OK) return wrong(opened);
  sqlite3_busy_timeout(file_, wait_for_lock_ms);
  const char* const synchronous = end == journal_survives::machine
                                      ? "PRAGMA synchronous = FULL"
                                      : "PRAGMA synchronous = NORMAL";
  // The lock first: with it the log needs no shared memory.
  for (const auto* sql :
       {"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL", synchronous,
        "CREATE TABLE IF NOT EXISTS entries"
        " (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"})
    if (auto done = run(sql); !done.ok()) return done;
  return {};
}

sqlite_journal::~sqlite_journal() {
  sqlite3_close(file_);
}

status sqlite_journal::wrong(int code) const {
  const auto kind = code & 0xff;
  const auto why = path_ + ": " + (file_ ? sqlite3_errmsg(file_) : sqlite3_errstr(code));
  if (kind == SQLITE_FULL) return {errc::no_space, why};
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB) return {errc::corrupt, why};
  return {errc::io_error, why};
}

status sqlite_journal::run(const char* sql) {
  const int code = sqlite3_exec(file_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? status() : wrong(code);
}

expected<std::vector<journal_entry>> sqlite_journal::read() {
  sqlite3_stmt* prepared = nullptr;
  auto code = sqlite3_prepare_v2(file_, "SELECT key, value FROM entries ORDER BY key", -1,
                                 &prepared, nullptr);
  const statement rows(prepared);
  if (code != SQLITE_OK) return fail(wrong(code));
  std::vector<journal_entry> all;
  while ((code = sqlite3_step(prepared)) == SQLITE_ROW)
    all.push_back({column(prepared, 0), column(prepared, 1)});
  if (code != SQLITE_DONE) return fail(wrong(code));
  return all;
}

status sqlite_journal::write(std::span<const journal_entry> entries) {
  if (auto begun = run("BEGIN IMMEDIATE"); !begun.ok()) return begun;
  if (auto inserted = insert(entries); !inserted.ok()) {
    (void)run("ROLLBACK");  // what counts is why
    return inserted;
  }
  return run("COMMIT");
}

status sqlite_journal::insert(std::span<const journal_entry> entries) {
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v2(file_, "INSERT OR REPLACE INTO entries VALUES (?, ?)", -1,
                                &prepared, nullptr);
  const statement row(prepared);
  for (const auto& entry : entries) {
    if (code == SQLITE_OK) code = bind(prepared, 1, entry.key);
    if (code == SQLITE_OK) code = bind(prepared, 2, entry.value);
    if (code == SQLITE_OK) code = sqlite3_step(prepared);
    if (code != SQLITE_DONE) break;
    code = sqlite3_reset(prepared);
  }
  return code == SQLITE_OK ? status() : wrong(code);
}

}  // namespace tidegate::runtime
