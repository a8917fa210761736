#include "launch/cli/command_line.hpp"
#include "launch/config/key_help.hpp"
#include "launch/config/yaml_keys.hpp"

namespace tidegate::launch {

namespace {

constexpr const char* general = R"(tidegate - a parameter server

  tidegate validate FILE [--set path=value]...
      say everything that is wrong with a cluster file
  tidegate plan FILE [--json] [--engine NAME] [--set path=value]...
      show processes, chunks per shard and memory; nothing is started
  tidegate launch FILE [--run-dir DIR] [--follow] [--set path=value]...
      run it: coordinator, shards, aggregators and workers
  tidegate launch --resume RUN_DIR [--follow]
      go on with a run whose launcher was killed, or that failed
  tidegate submit --slurm FILE [--nodes N] [--time LIMIT] [--run-dir DIR]
      run it as a batch job of Slurm, which goes on after its time limit
  tidegate render kubernetes FILE --image IMAGE [--nodes N]
      write what runs it on Kubernetes; see tidegate render --help
  tidegate export RUN_DIR -o FILE [--job NAME]
      write a job's newest checkpoint as one safetensors file
  tidegate scale RUN_DIR workers=N shards=N [--job NAME]
      add or remove workers and shards while jobs run
  tidegate cancel RUN_DIR [JOB]
      end a job; the others of the run go on
  tidegate status RUN_DIR [--json]
      say how a run goes on, or has ended
  tidegate top RUN_DIR
      show how a run goes on, second by second
  tidegate why RUN_DIR [--last CLOCKS | --clock CLOCK]
      say which worker or shard a job waits for, and why
  tidegate trace RUN_DIR [--clocks A..B] [-o FILE]
      write what each process did lately, moment by moment, as a trace
  tidegate clocks RUN_DIR [--clocks A..B | -f] [--job JOB] [--json]
      show what happened in each of the last clocks, one by one
  tidegate view RUN_DIR [--address ADDRESS:PORT]
      show a run in a browser, while it goes on or after it
  tidegate logs RUN_DIR [PROCESS] [-f]
      show what processes have written, or write
  tidegate stop RUN_DIR [--now]
      end a run after a last checkpoint of its jobs
  tidegate ls [FOLDER]
      list the runs in a folder; runs without one
  tidegate bench SUBJECT [options]
      measure on this machine: exchange, latency, roofline; see tidegate bench --help
  tidegate chaos RUN_DIR kill|stop|continue|random ...
      kill processes of a run on purpose; see tidegate chaos --help
  tidegate door --key-file FILE [--listen ADDRESS:PORT]
      let launchers that have the key start agents on this host; see tidegate door --help
  tidegate simulate FILE [options]
      model a cluster of thousands on paper; see tidegate simulate --help
  tidegate completion bash|zsh|fish
      print what lets a shell complete command lines
  tidegate help yaml [KEY]
      every key of a cluster file; or one, as staleness or jobs.mlp.workers
  tidegate COMMAND --help
  tidegate --version

Internal: `tidegate node coordinator|shard|aggregator` and `tidegate host` are what `launch` starts;
`tidegate complete` is what shells ask, and `tidegate manual` writes what is installed for them.

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

constexpr const char* plan =
    R"(tidegate plan FILE [--json] [--engine NAME [--nodes N]] [--set path=value]...

Shows which processes would run on which hosts, what starts the agents of hosts, the chunks of
declared tables on each shard, and the memory that parameters, optimizer state and waiting
gradients take at most. Starts nothing, and asks no engine for anything.

  --json             the same as JSON
  --engine NAME      as on slurm, mpi or ray, whatever cluster.engine says
  --nodes N          of the engine; without it those that cluster.hosts names
)";

constexpr const char* submit =
    R"(tidegate submit --slurm FILE [--nodes N] [--time LIMIT] [--run-dir DIR] [--sbatch OPTION]...

Gives the cluster file to Slurm's sbatch as a job, with cluster.engine=slurm: the launcher runs on the first of its nodes,
and the nodes are the hosts. Before the job's time limit Slurm signals it; jobs that have checkpoints
write one more, and the job goes back into the queue, to go on from there. The run folder, FILE and
tidegate must be seen by all nodes.

  --slurm            the queue that it goes to; there is no other yet
  --nodes N          how many; without it as many as cluster.hosts names
  --time LIMIT       of each turn, as sbatch has it (2:00:00); without it the partition's
  --run-dir DIR      the run folder; must be new or empty. Default: runs/NAME-YYYYmmdd-HHMMSS
  --sbatch OPTION    one more option of sbatch: --sbatch=--partition=gpu; may be given often
  --dry-run          shows the batch script, and submits nothing

Writes DIR.sbatch, the batch script; the launcher's output goes to DIR.out. A job that has ended
before its run has, as with its first node, is submitted again with `sbatch DIR.sbatch`, and goes on.
)";

constexpr const char* launch =
    R"(tidegate launch FILE [--run-dir DIR] [--follow] [--set path=value]...
tidegate launch FILE --continue [--run-dir DIR] [--follow] [--set path=value]...
tidegate launch --resume RUN_DIR [--follow]

Starts the cluster, shows how the jobs go on, and ends with a table of results.

  --run-dir DIR      where to put logs and results; must be new or empty.
                     Default: runs/NAME-YYYYmmdd-HHMMSS
  --run-dir-file FILE  gets the absolute path of the run folder once that is there
  --follow           shows what workers write, each line with the worker's rank in front; it is in
                     RUN_DIR/logs in any case
  --trace FILE       gets what each process did in its last seconds, as `tidegate trace` writes it, when
                     the run has ended
  --resume RUN_DIR   goes on with a run that was not done: its launcher was killed, or it failed.
                     Jobs with checkpoints go on from the newest whole one, the others begin anew,
                     all with the cluster file that the run began with. A run that is done is left
                     as it is, and one whose launcher lives is refused.
  --continue         goes on, in a new run folder and where the old one may be lost, from the
                     checkpoints in the folders that jobs name (jobs.*.checkpoint.path). Beside
                     them, in JOB/run, is the cluster file of the run that wrote them. Jobs without
                     such checkpoints begin anew. Refused while a launcher lives that writes there.
  --patience TIME    waits so long before it begins until the names of all hosts are known, and with
                     --resume for the end of a launcher of this run whose host was lost

In the run folder: cluster.yaml (as run), plan.txt, plan.json, pids.json, events.jsonl, result.json,
logs/ROLE-INDEX.log, checkpoints/JOB (a link where the job names a folder). Ctrl-C ends everything
within two seconds; again, at once.
)";

constexpr const char* export_run = R"(tidegate export RUN_DIR -o FILE [--job NAME]
tidegate export RUN_DIR --checkpoint ID -o FILE [--job NAME]
tidegate export RUN_DIR --since CLOCK -o FILE [--job NAME]
tidegate export RUN_DIR --list [--job NAME]

Writes the tables of a job, from its newest checkpoint that is whole, as one safetensors file: a
tensor per table, float32. Reads RUN_DIR/checkpoints/NAME and changes nothing there; the run may
still go on. RUN_DIR may also be a folder that jobs name for checkpoints (jobs.*.checkpoint.path).
Says which newer checkpoints are damaged. A table of rows is two tensors, NAME/ids (uint64) and
NAME/values.

  -o, --output FILE  what to write; replaced as a whole
  --job NAME         needed where several jobs have checkpoints
  --checkpoint ID    of this checkpoint, as --list shows it (e0001-00000017), in place of the newest;
                     refused if it is damaged
  --since CLOCK      of tables of rows only those that were pushed in this clock or later; NAME/unchanged
                     has the ids of the others. Rows that are in neither are gone. CLOCK is the
                     one that the file before says (tidegate.clock in its metadata)
  --list             show all checkpoints, and whether each is whole, in place of writing

It says the SHA-256 of the file, as sha256sum does. That is another number than parameters_sha256 of
result.json, which is of the parameters alone: names, metadata and layout of the file are not in it.

Exit codes: 0 done; 1 no checkpoint is whole, or not that one, or FILE cannot be written; 2 bad usage.
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

constexpr const char* cancel = R"(tidegate cancel RUN_DIR [JOB]

Asks the launcher of a run to end a job, the only one if none is named. Its processes get SIGTERM,
and SIGKILL a second later; shards free its memory. The other jobs of the run go on. The job's
state is `cancelled`, its checkpoints stay, and the run's exit code is 1.

Exit codes: 0 it is cancelled, for good: a run that is resumed leaves it alone, too; 1 it has ended,
there is no such job, jobs do not run (they start, go back or end), no launcher lives in RUN_DIR, or
it ends and could not be put on record, so that it begins again if the run is resumed; 2 bad usage.
)";

constexpr const char* status_of_run = R"(tidegate status RUN_DIR [--json]

Asks the launcher of a run how its jobs go on, which processes it has, on which hosts, and who has
waited for whom for more than two seconds. Of a run that has ended it says what result.json has.

  --json             one line of JSON: cluster, state, jobs (as in result.json, and clock_slowest,
                     clock_fastest, clocks_total, workers, workers_joined, restarts, checkpoints,
                     last_seconds, and members with where the time of each worker went),
                     processes, hosts, waits. state is starting, running, going back, ending, or
                     ended; then there is an exit_code, and the last three are empty

Exit codes: 0 it is said; 1 no launcher lives in RUN_DIR, and it has no result; 2 bad usage.
)";

constexpr const char* top = R"(tidegate top RUN_DIR

Shows once in a second how the jobs of a run go on: how far they are, which worker or shard
they wait for and why, where the time of each worker went in the last five seconds (# it computes, + it is in
calls of the session, . it waits), in which share of the clocks its push came last and by how much,
who has waited for more than two seconds, and what has happened last. It ends with the run.

Keys: up, down, page up, page down: other workers; s: those first whose pushes come last; q: leave.
Where output is no terminal it prints what `tidegate status` does, once in a second. Colours are not
used if NO_COLOR is set.

Exit codes: as of `tidegate status`.
)";

constexpr const char* logs = R"(tidegate logs RUN_DIR [PROCESS] [-f] [--lines N]

Shows the last lines of RUN_DIR/logs: of all processes, or of one, as worker-mlp-0 or shard-1.

  -f, --follow       goes on with what they write, each line with the process in front, until the
                     run has ended
  -n, --lines N      so many of the last lines of each, or all; without it 10, or all of one PROCESS

Exit codes: 0 they are shown; 1 there are none, or none of that process; 2 bad usage.
)";

constexpr const char* stop = R"(tidegate stop RUN_DIR [--now]

Ends a run as Ctrl-C at its launcher does: jobs with checkpoints write one more, all processes end, and
`tidegate launch --resume RUN_DIR` goes on from there. It waits for the end, and says how the run has
ended.

  --now              without that checkpoint; also to end a run that is being stopped

Exit codes: 0 the run has ended; 1 no launcher lives in RUN_DIR, or it has left no result; 2 bad usage.
)";

constexpr const char* list = R"(tidegate ls [FOLDER] [--json]

Lists the runs in a folder, the newest last: those that go on, have ended, and have lost their launcher
and may go on with `tidegate launch --resume`.

  --json             a line for each: run, state (running, ended or lost), exit_code, and jobs as in
                     result.json

Exit codes: 0 they are listed; 1 there is no such folder; 2 bad usage.
)";

constexpr const char* why =
    R"(tidegate why RUN_DIR [--job JOB] [--last CLOCKS | --clock CLOCK] [--json]

Says of each job which workers and shards it has waited for, how often and how long, why, and how
fast the job would be without. Why: they were stopped, had no processor, had their memory on a disk
or a host short of it, collected garbage, computed, called, were busy or waited for a replica for
longer than others, or what they sent arrived late. It also says whether checkpoints come late for
a slow disk, and whose.
It reads RUN_DIR/metrics.jsonl: of a run that goes on, or has ended.

  --job JOB          of this job alone
  --last CLOCKS      of so many of the last clocks, not of all
  --clock CLOCK      of the second in which this clock ended
  --json             a line of JSON for each job: job, workers, first_clock, last_clock, seconds,
                     held_up_by (rank or shard; because: stopped, starved, disk_faults, memory,
                     garbage, computes, calls, busy, replica or arrives; comes_last,
                     late_seconds, own_seconds, others_seconds, of_the_time, faster), and
                     late_checkpoint where there is such (writer: shard, all_shards or coordinator)

Exit codes: 0 it is said, also where nobody holds a job up; 1 nothing is known; 2 bad usage.
)";

constexpr const char* trace =
    R"(tidegate trace RUN_DIR [--clocks A..B] [-o FILE]

Writes what each process of a run did lately: where its program computed, called and waited, when a
shard took each push and stepped, and arrows from a push over its step to the answer. The file is JSON of
the Trace Event Format, for https://ui.perfetto.dev (which keeps it in the browser) and chrome://tracing.

Every process keeps its last 16,384 spans in memory, always, also of the processes that have died. So it works
on a run that goes on, and nothing had to be switched on. When a job fails, or a process or job hangs, the run
writes them down itself; of a run that has ended the newest of these files is shown.

  --clocks A..B      of these clocks alone, both included; of a run that is not there yet it waits for them
  -o, --output FILE  where it goes; without it RUN_DIR/trace.json

Exit codes: 0 it is written; 1 there is nothing to write, or no room; 2 bad usage.
)";

constexpr const char* clocks =
    R"(tidegate clocks RUN_DIR [--clocks A..B | -f] [--job JOB] [--json]

Prints a row for each of the last clocks of each job: how long it took, which worker pushed last and by how
much, where the time of that worker went and that of the others (the median), and which shard answered last.
It shows what `tidegate trace` shows, clock by clock, of the same spans: a run that goes on is asked for them,
and one that has ended has left them when a job failed or hung, or with launch --trace FILE.
Of a single clock it has a row for each worker: what it waited for, how many bytes it pushed, and how stale
what it had pulled was.

  --clocks A..B      of these clocks, both included; of a run that is not there yet it waits for them;
                     without it the last 20, or with --json all
  -f, --follow       goes on with each clock as it ends, until the run has; how many are lost where
                     processes do more than they keep is said at the end
  --job JOB          of this job alone
  --json             a line of JSON for each clock, with all workers; docs/observing.md

Exit codes: 0 it is shown; 1 nothing is known; 2 bad usage.
)";

constexpr const char* view = R"(tidegate view RUN_DIR [--address ADDRESS:PORT]

Prints where a browser finds a page of the run, and answers there until Ctrl-C: how its jobs go on or went,
which worker or shard they wait for and why, where the time of workers goes, what has happened, and what
processes have written. All of it is read from RUN_DIR, and from the launcher while it lives. A run with
`monitor` in its file has the same page at that address.

  --address A:P      where it listens: an address of loopback; without it 127.0.0.1 and any port

Exit codes: 0 it was ended; 1 RUN_DIR is no run folder, or the port is in use; 2 bad usage.
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
  if (topic == "submit") return std::string(submit) + sets;
  if (topic == "export") return export_run;
  if (topic == "scale") return scale;
  if (topic == "cancel") return cancel;
  if (topic == "status") return status_of_run;
  if (topic == "top") return top;
  if (topic == "logs") return logs;
  if (topic == "stop") return stop;
  if (topic == "ls") return list;
  if (topic == "why") return why;
  if (topic == "trace") return trace;
  if (topic == "clocks") return clocks;
  if (topic == "view") return view;
  if (topic.starts_with("node")) return node;
  if (topic == "yaml") return keys_help();
  return general;
}

runtime::expected<std::string> help_of(const command_line& line) {
  if (!line.key.empty()) return key_help(line.key);
  return help_text(line.topic);
}

}  // namespace tidegate::launch
