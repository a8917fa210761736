#include "launch/submit/slurm_script.hpp"

#include "launch/text/nearest.hpp"
#include "launch/text/shell_word.hpp"

namespace tidegate::launch {

namespace {

// SIGINT has the launcher write a last checkpoint; SIGTERM, as of scancel, has it leave at
// once. A signal ends bash's `wait`, not the launcher.
constexpr const char* body = R"sh(
launcher=
limit=
stopped=
trap 'limit=near; signalled=1; [ -z "$launcher" ] || kill -INT "$launcher"' USR1
trap 'stopped=yes; signalled=1; [ -z "$launcher" ] || kill -TERM "$launcher"' TERM
checkpoints() {
  local folder
  for folder in "$run"/checkpoints/*; do [ -L "$folder" ] || ls "$folder"/*.manifest; done 2>/dev/null
  for folder in "${folders[@]}"; do ls "$folder"/*.manifest; done 2>/dev/null
  grep -c '"kind":"checkpoint"' "$run/events.jsonl" 2>/dev/null
}

before=$(checkpoints)

if [ -e "$run/cluster.yaml" ]; then
  set -- launch --resume "$run"
elif [ "${#folders[@]}" -gt 0 ] && [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
  set -- launch "${arguments[@]}" --run-dir "$run" --continue
else
  set -- launch "${arguments[@]}" --run-dir "$run"
fi
echo "tidegate $* (job $SLURM_JOB_ID, attempt $((${SLURM_RESTART_COUNT:-0} + 1)))"
"$tidegate" "$@" &
launcher=$!
[ -z "$limit" ] || kill -INT "$launcher"
[ -z "$stopped" ] || kill -TERM "$launcher"
while
  signalled=
  wait "$launcher"
  result=$?
  [ -n "$signalled" ]
do :; done

# 1: interrupted, or failed, which the resumed run finds out. Without a checkpoint that is new the
# next turn would come no further.
if [ -n "$limit" ] && [ -z "$stopped" ] && [ "$result" -eq 1 ] && [ "$(checkpoints)" != "$before" ]; then
  echo "the time limit is near: job $SLURM_JOB_ID goes back into the queue, and on with $run"
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$result"
)sh";

// Of a file of sbatch's, in whose names %j is the job's number.
std::string file_name(const std::string& path) {
  std::string name;
  for (const char letter : path)
    name += letter == '%' ? std::string("%%") : std::string(1, letter);
  return name;
}

std::string option_line(const std::string& option) {
  return "#SBATCH " + shell_command({option}) + "\n";
}

}  // namespace

std::string slurm_script(const slurm_job& job) {
  std::string text = "#!/bin/bash\n";
  text += option_line("--job-name=" + job.name);
  text += option_line("--nodes=" + std::to_string(job.nodes));
  if (!job.hosts.empty()) text += option_line("--nodelist=" + join(job.hosts, ","));
  text += option_line("--ntasks-per-node=1");
  // A node that fails ends neither the job nor the others: its host is lost.
  text += option_line("--no-kill");
  text += option_line("--requeue");
  text += option_line("--signal=B:USR1@" + std::to_string(job.save_seconds));
  text += option_line("--output=" + file_name(job.run_dir) + ".out");
  text += option_line("--open-mode=append");
  if (!job.time.empty()) text += option_line("--time=" + job.time);
  for (const auto& option : job.options) text += option_line(option);
  std::string folders;
  for (const auto& folder : job.checkpoint_folders)
    folders += (folders.empty() ? "" : " ") + shell_word(folder);
  text += "\ntidegate=" + shell_word(job.program) + "\nrun=" + shell_word(job.run_dir) +
          "\nfolders=(" + folders + ")\narguments=(" + shell_word(job.file);
  for (const auto& set : job.sets) text += " --set " + shell_word(set);
  return text + ")\n" + body;
}

}  // namespace tidegate::launch
