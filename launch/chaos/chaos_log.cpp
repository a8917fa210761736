#include "launch/chaos/chaos_log.hpp"

#include <fcntl.h>
#include <iostream>

#include "launch/chaos/members.hpp"
#include "launch/chaos/options.hpp"
#include "launch/run/run_journal.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

using runtime::status;

namespace {

status append_to(runtime::expected<launch::event_log>& log,
                 const policies::cluster_event& event) {
  return log ? log->append(event) : log.error();
}

}  // namespace

chaos_log::chaos_log(const std::string& run_dir)
    : chaos_(launch::event_log::open(run_dir + "/chaos.jsonl", O_CREAT)),
      run_(launch::event_log::open(run_dir + "/events.jsonl", 0)) {}

status chaos_log::append(std::int64_t unix_ns, const std::string& subject,
                         const std::string& detail) {
  std::cout << subject << " " << detail << std::endl;
  auto noted = append_to(chaos_, {.unix_ns = unix_ns, .subject = subject, .detail = detail});
  return noted.ok()
             ? append_to(
                   run_,
                   {.unix_ns = unix_ns, .subject = "fault", .detail = subject + " " + detail})
             : noted;
}

status strike(const policies::chaos_target& target, const std::string& subject, int signal,
              chaos_log& log) {
  const auto now = runtime::unix_now();
  if (auto sent = send_signal(target, signal); !sent.ok()) return sent;
  const auto detail = target.name.to_string() + " pid " + std::to_string(target.pid) + " " +
                      signal_name(signal);
  return log.append(now, subject, detail);
}

}  // namespace tidegate::chaos
