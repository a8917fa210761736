#include "launch/submit/slurm_script.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

slurm_job job() {
  return {.name = "mine",
          .program = "/opt/tidegate",
          .file = "/home/me/a cluster.yaml",
          .run_dir = "/home/me/runs/mine",
          .sets = {"cluster.engine=slurm", "jobs.mine.env.TEXT=it's"},
          .nodes = 3,
          .hosts = {},
          .time = "2:00:00",
          .save_seconds = 35,
          .options = {"--partition=gpu"}};
}

TEST(slurm_script, asks_for_a_signal_before_the_limit_and_for_another_start) {
  const auto script = slurm_script(job());
  EXPECT_THAT(script, testing::StartsWith("#!/bin/bash\n#SBATCH "));
  for (const char* line :
       {"--nodes=3", "--no-kill", "--requeue", "--signal=B:USR1@35", "--time=2:00:00",
        "--partition=gpu", "--output=/home/me/runs/mine.out", "--open-mode=append"})
    EXPECT_THAT(script, HasSubstr("\n#SBATCH " + std::string(line) + "\n"));
  auto unlimited = job();
  unlimited.time.clear();
  EXPECT_THAT(slurm_script(unlimited), Not(HasSubstr("--time")));
}

TEST(slurm_script, asks_for_the_nodes_that_the_file_names) {
  auto named = job();
  named.hosts = {"n1", "n2"};
  EXPECT_THAT(slurm_script(named), HasSubstr("\n#SBATCH --nodelist=n1,n2\n"));
  EXPECT_THAT(slurm_script(job()), Not(HasSubstr("--nodelist")));
}

TEST(slurm_script, quotes_what_a_shell_would_take_apart) {
  EXPECT_THAT(slurm_script(job()),
              HasSubstr("\narguments=('/home/me/a cluster.yaml' --set 'cluster.engine=slurm' "
                        "--set 'jobs.mine.env.TEXT=it'\\''s')\n"));
}

TEST(slurm_script, goes_on_from_folders_of_checkpoints_where_the_run_folder_is_not) {
  EXPECT_THAT(slurm_script(job()), HasSubstr("\nfolders=()\n"));
  auto named = job();
  named.checkpoint_folders = {"/shared/a folder/mine", "s3://bucket/b"};
  EXPECT_THAT(slurm_script(named),
              HasSubstr("\nfolders=('/shared/a folder/mine' 's3://bucket/b')\n"));
}

TEST(slurm_script, says_a_percent_sign_twice_in_the_name_of_the_output) {
  auto odd = job();
  odd.run_dir = "/home/me/50%j";
  EXPECT_THAT(slurm_script(odd), HasSubstr("\n#SBATCH --output=/home/me/50%%j.out\n"));
}

}  // namespace
}  // namespace tidegate::launch
