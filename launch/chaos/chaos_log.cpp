#include "launch/chaos/chaos_log.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include "launch/chaos/members.hpp"
#include "launch/chaos/options.hpp"
#include "launch/run_journal.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

using runtime::errc;
using runtime::status;

namespace {

runtime::unique_fd open_to_append(const std::string& path, int flags) {
  return runtime::unique_fd(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666));
}

}  // namespace

chaos_log::chaos_log(const std::string& run_dir)
    : chaos_{run_dir + "/chaos.jsonl", open_to_append(run_dir + "/chaos.jsonl", O_CREAT)},
      run_{run_dir + "/events.jsonl", open_to_append(run_dir + "/events.jsonl", 0)} {}

status chaos_log::append(const file& to, std::int64_t unix_ns, const std::string& what,
                         const std::string& detail) {
  const auto line = launch::event_line({unix_ns, what, detail});
  const auto n = ::write(to.fd.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return {};
  return {errc::io_error, to.path + ": " + (n < 0 ? std::strerror(errno) : "the disk is full")};
}

status chaos_log::append(std::int64_t unix_ns, const std::string& what,
                         const std::string& detail) {
  std::cout << what << " " << detail << std::endl;
  auto noted = append(chaos_, unix_ns, what, detail);
  return noted.ok() ? append(run_, unix_ns, "fault", what + " " + detail) : noted;
}

status strike(const policies::chaos_target& target, const std::string& what, int signal,
              chaos_log& log) {
  const auto now = runtime::unix_now();
  if (auto sent = send_signal(target, signal); !sent.ok()) return sent;
  const auto detail = target.name.to_string() + " pid " + std::to_string(target.pid) + " " +
                      signal_name(signal);
  return log.append(now, what, detail);
}

}  // namespace tidegate::chaos
