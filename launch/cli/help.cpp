#include "launch/cli/command_line.hpp"
#include "launch/config/yaml_keys.hpp"

namespace tidegate::launch {

namespace {

constexpr const char* general = R"(tidegate - a parameter server

  tidegate validate FILE [--set path=value]...
      say everything that is wrong with a cluster file
  tidegate plan FILE [--json] [--set path=value]...
      show processes, chunks per shard and memory; nothing is started
  tidegate launch FILE [--run-dir DIR] [--follow] [--set path=value]...
      run it: coordinator, shards, aggregators and workers
  tidegate launch --resume RUN_DIR [--follow]
      go on with a run whose launcher was killed, or that failed
  tidegate export RUN_DIR -o FILE [--job NAME]
      write a job's newest checkpoint as one safetensors file
  tidegate scale RUN_DIR workers=N shards=N [--job NAME]
      add or remove workers and shards while jobs run
  tidegate bench SUBJECT [options]
      measure on this machine: exchange, latency, roofline; see tidegate bench --help
  tidegate chaos RUN_DIR kill|stop|continue|random ...
      kill processes of a run on purpose; see tidegate chaos --help
  tidegate simulate FILE [options]
      model a cluster of thousands on paper; see tidegate simulate --help
  tidegate help yaml
      every key of a cluster file
  tidegate COMMAND --help
  tidegate --version

Internal: `tidegate node coordinator|shard|aggregator` and `tidegate host` are what `launch` starts.

Exit codes: 0 done; 1 a job failed or was interrupted; 2 bad usage or YAML;
3 a process died and was not to be replaced.
)";

constexpr const char* sets = R"(
  --device NAME      where shards keep and step their parameters: cuda:N, a GPU. Short for
                     --set cluster.shards.device=NAME
  --set path=value   changes the file before it is read; may be given often.
                     --set jobs.mlp.workers=8
                     --set jobs.mlp.consistency.policy=async
                     --set 'jobs.mlp.tables."fc1.weight".shape=[256, 784]'
)";

constexpr const char* validate = R"(tidegate validate FILE [--set path=value]...

Reads a cluster file and lists every problem as FILE:LINE:COLUMN: what is wrong; what is allowed.
Exit code 0 without a problem, else 2.
)";

constexpr const char* plan = R"(tidegate plan FILE [--json] [--set path=value]...

Shows which processes would run, the chunks of declared tables on each shard, and the memory that
parameters, optimizer state and waiting gradients take at most. Starts nothing.

  --json             the same as JSON
)";

constexpr const char* launch =
    R"(tidegate launch FILE [--run-dir DIR] [--follow] [--set path=value]...
tidegate launch --resume RUN_DIR [--follow]

Starts the cluster, shows how the jobs go on, and ends with a table of results.

  --run-dir DIR      where to put logs and results; must be new or empty.
                     Default: runs/NAME-YYYYmmdd-HHMMSS
  --run-dir-file FILE  gets the absolute path of the run folder once that is there
  --follow           shows what workers write, each line with the worker's rank in front; it is in
                     RUN_DIR/logs in any case
  --resume RUN_DIR   goes on with a run that was not done: its launcher was killed, or it failed.
                     Jobs with checkpoints go on from the newest whole one, the others begin anew,
                     all with the cluster file that the run began with. A run that is done is left
                     as it is, and one whose launcher lives is refused.

In the run folder: cluster.yaml (as run), plan.txt, plan.json, pids.json, events.jsonl, result.json,
logs/ROLE-INDEX.log, checkpoints/JOB. Ctrl-C ends everything within two seconds; again, at once.
)";

constexpr const char* export_run = R"(tidegate export RUN_DIR -o FILE [--job NAME]
tidegate export RUN_DIR --since CLOCK -o FILE [--job NAME]
tidegate export RUN_DIR --list [--job NAME]

Writes the tables of a job, from its newest checkpoint that is whole, as one safetensors file: a
tensor per table, float32. Reads RUN_DIR/checkpoints/NAME and changes nothing there; the run may
still go on. Says which newer checkpoints are damaged. A table of rows is two tensors, NAME/ids
(uint64) and NAME/values.

  -o, --output FILE  what to write; replaced as a whole
  --job NAME         needed where several jobs have checkpoints
  --since CLOCK      of tables of rows only those that were pushed in this clock or later; NAME/unchanged
                     has the ids of the others. Rows that are in neither are gone. CLOCK is the
                     one that the file before says (tidegate.clock in its metadata)
  --list             show all checkpoints, and whether each is whole, in place of writing

Exit codes: 0 done; 1 no checkpoint is whole, or FILE cannot be written; 2 bad usage.
)";

constexpr const char* scale = R"(tidegate scale RUN_DIR workers=N shards=N [--job NAME]

Asks the launcher of a run for another number of workers of a job, of shards, or of both.

New workers begin at a clock that nobody has come to yet, which all shards agree upon while the others go on; those that are one too
many, the highest ranks, get SIGTERM, and the others go on without them from the first clock that
they have pushed nowhere. events.jsonl names the clocks (worker_added, worker_left). A program that
may be joined begins at session.now(). There is room for jobs.NAME.max_workers.

Parameters are in cluster.max_shards parts, which the shard processes share out among them. Those
that are new take parts over, and those that are one too many, the highest numbers, give theirs
away and end: as few parts move as make all even. A part that moves is copied while training goes
on, then its new process serves it; workers wait for some milliseconds (shard_moves, shard_moved
in events.jsonl).

  --job NAME         of the workers; needed where there are several jobs

Exit codes: 0 it is agreed; 1 it cannot be, or no launcher lives in RUN_DIR; 2 bad usage.
)";

constexpr const char* node = R"(tidegate node coordinator --run-dir DIR --ready-fd N
tidegate node shard --run-dir DIR --index I
tidegate node aggregator --run-dir DIR --job JOB --index I

Internal: the processes that `tidegate launch` starts. They read DIR/cluster.yaml and take
TIDEGATE_COORDINATOR, TIDEGATE_PROTOCOL, TIDEGATE_TOKEN and TIDEGATE_TRANSPORT from their
environment. The coordinator writes "PORT\n" to descriptor N once it listens.
)";

}  // namespace

std::string help_text(const std::string& topic) {
  if (topic == "validate") return std::string(validate) + sets;
  if (topic == "plan") return std::string(plan) + sets;
  if (topic == "launch") return std::string(launch) + sets;
  if (topic == "export") return export_run;
  if (topic == "scale") return scale;
  if (topic.starts_with("node")) return node;
  if (topic == "yaml") return keys_help();
  return general;
}

}  // namespace tidegate::launch
