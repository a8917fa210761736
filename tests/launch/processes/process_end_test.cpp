#include "launch/processes/process_end.hpp"

#include <signal.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using ending = policies::process_exit::ending;
using policies::process_role;

process_end worker(bool by_signal, int code) {
  return {.process = 7,
          .name = {.role = process_role::worker, .job = "mlp", .index = 2},
          .pid = 47,
          .by_signal = by_signal,
          .code = code};
}

TEST(process_end, text_names_the_process_and_how_it_ended) {
  EXPECT_EQ(to_string(worker(true, SIGKILL)),
            "worker 2 of job mlp (pid 47) was killed by SIGKILL");
  EXPECT_EQ(to_string(process_end{.name = {.role = process_role::shard, .job = "", .index = 1},
                                  .pid = 9,
                                  .by_signal = false,
                                  .code = 1}),
            "shard 1 (pid 9) exited with status 1");
  EXPECT_EQ(to_string(worker(true, 63)),
            "worker 2 of job mlp (pid 47) was killed by signal 63");
}

TEST(process_end, says_why_a_coordinator_could_not_keep_its_journal) {
  EXPECT_EQ(
      to_string(process_end{.name = {.role = process_role::coordinator, .job = "", .index = 0},
                            .pid = 9,
                            .by_signal = false,
                            .code = 5}),
      "coordinator 0 (pid 9) exited with status 5: the disk of the run folder is full");
  EXPECT_EQ(
      to_string(process_end{.name = {.role = process_role::coordinator, .job = "", .index = 0},
                            .pid = 9,
                            .by_signal = false,
                            .code = 6}),
      "coordinator 0 (pid 9) exited with status 6: its files in the run folder cannot be "
      "used");
  EXPECT_EQ(to_string(worker(false, 5)), "worker 2 of job mlp (pid 47) exited with status 5");
}

TEST(process_end, is_clean_only_with_status_0) {
  EXPECT_EQ(to_exit(worker(false, 0)).kind, ending::clean);
  EXPECT_EQ(to_exit(worker(false, 1)).kind, ending::bad_status);
  EXPECT_EQ(to_exit(worker(true, SIGHUP)).kind, ending::by_signal);
  EXPECT_EQ(to_exit(worker(true, SIGHUP)).text, to_string(worker(true, SIGHUP)));
}

}  // namespace
}  // namespace tidegate::launch
