#include "launch/processes/process_table.hpp"

#include <map>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <vector>

#include <gtest/gtest.h>

#include "policies/model/millisecond.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {
namespace {

using policies::process_number;
using policies::process_role;

TEST(process_table, a_signal_reaches_the_process_of_that_number) {
  process_table table;
  for (const process_number number : {3U, 7U}) {
    const auto pid =
        table.start({number, 1}, {.role = process_role::worker, .job = "mlp", .index = number},
                    {.program = "/bin/sleep",
                     .arguments = {"sleep", "1000"},
                     .environment = {},
                     .log_path = "/dev/null"});
    ASSERT_TRUE(pid) << pid.error().message();
  }
  EXPECT_TRUE(table.reap().empty());
  table.signal(launched_process{5, 1}, SIGKILL);  // nobody
  table.signal(launched_process{7, 2}, SIGKILL);  // another life of it
  table.signal(launched_process{7, 1}, SIGTERM);
  table.signal(launched_process{3, 1}, SIGKILL);
  std::map<process_number, process_end> ends;
  while (!table.is_empty()) {
    std::vector<pollfd> fds;
    table.add_to(fds);
    ASSERT_GT(::poll(fds.data(), fds.size(), 10'000), 0);
    for (const auto& end : table.reap()) ends[end.process] = end;
  }
  EXPECT_EQ(ends[7].code, SIGTERM);
  EXPECT_EQ(ends[3].code, SIGKILL);
  EXPECT_TRUE(ends[3].by_signal);
  EXPECT_EQ(ends[3].name.index, 3U);
}

// The pid is given back beside: what waits here for that is the test.
TEST(process_table, no_child_is_left_of_what_has_ended) {
  process_table table;
  const auto pid = table.start({1, 1}, {.role = process_role::worker, .job = "mlp", .index = 1},
                               {.program = "/bin/true",
                                .arguments = {"true"},
                                .environment = {},
                                .log_path = "/dev/null"});
  ASSERT_TRUE(pid) << pid.error().message();
  std::vector<pollfd> fds;
  table.add_to(fds);
  ASSERT_GT(::poll(fds.data(), fds.size(), 10'000), 0);
  ASSERT_EQ(table.reap().size(), 1U);
  EXPECT_TRUE(table.is_empty());
  siginfo_t info = {};
  const auto until = runtime::steady_now() + 10'000 * policies::millisecond;
  while (::waitid(P_PID, static_cast<id_t>(*pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         runtime::steady_now() < until)
    ::poll(nullptr, 0, 1);
  EXPECT_LT(runtime::steady_now(), until) << "it is a zombie";
}

}  // namespace
}  // namespace tidegate::launch
