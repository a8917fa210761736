#include "launch/run/run_journal.hpp"

#include <chrono>
#include <unistd.h>

#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

run_journal::run_journal(run_folder folder, bool is_terminal)
    : folder_(std::move(folder)),
      is_terminal_(is_terminal),
      display_(writer_, STDOUT_FILENO, is_terminal) {}

void run_journal::event(std::string_view subject, std::string_view detail,
                        const policies::event_fields& about) {
  event({.unix_ns = runtime::unix_now(),
         .subject = std::string(subject),
         .detail = std::string(detail),
         .about = about});
}

void run_journal::event(const policies::cluster_event& seen) {
  check(folder_.append_event(seen));
}

runtime::status run_journal::write(const std::string& name, const std::string& text,
                                   mode_t mode) {
  auto written = folder_.write(name, text, mode);
  check(written);
  return written;
}

void run_journal::complain(const std::string& text) {
  if (is_terminal_) display_.print(text);
  if (!is_terminal_ || ::isatty(STDERR_FILENO) == 0) writer_.write(STDERR_FILENO, text + "\n");
}

void run_journal::check(const runtime::status& result) {
  if (result.ok() || write_failed_) return;
  write_failed_ = true;
  complain("tidegate: the run folder cannot be written: " + result.message());
}

}  // namespace tidegate::launch
