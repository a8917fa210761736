#include "launch/config/yaml_keys.hpp"

#include "launch/config/optimizer_keys.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::launch {

namespace {

// clang-format off
constexpr yaml_key keys[] = {
  {"cluster", "map", "required", "a map", "the processes that hold parameters"},
  {"cluster.name", "text", "required", "1 to 64 of A-Z a-z 0-9 _ -", "names the run folder"},
  {"cluster.hosts", "map", "{}", "a map of hosts", "the hosts that processes run on; without it all run where the launcher does"},
  {"cluster.hosts.*", "map", "-", "a map, named by 1 to 64 of A-Z a-z 0-9 _ -", "one host; processes of different hosts share no memory"},
  {"cluster.hosts.*.address", "text", "-", "an address or name of that host", "where processes of the other hosts reach it; needed with several hosts"},
  {"cluster.hosts.*.prefix", "list", "-", "a list of text (program, arguments)", "goes before the commands of its processes, as in [ip, netns, exec, blue]; it must become the process (exec)"},
  {"cluster.coordinator_host", "text", "-", "a name in cluster.hosts", "the host of the coordinator, the first without it; the launcher must reach it, too"},
  {"cluster.shards", "number", "1", "1 to 1024", "shard processes; each holds a part of the parameters"},
  {"cluster.max_shards", "number", "-", "cluster.shards to 1024", "lets shards move while jobs run (tidegate scale RUN_DIR shards=N): parameters are in so many parts, which the shard processes share out among them; without it each has one, and keeps it"},
  {"cluster.replicas", "number", "0", "0 to 2", "of each shard: processes that take its place when it dies, so many of a group may die at once; workers keep what they have pushed until all have it"},
  {"cluster.shard_hosts", "list", "-", "a list of names in cluster.hosts", "the hosts of the shards, which take them in turn; all without it"},
  {"cluster.transport", "choice", "auto", "auto, shm, tcp, rdma", "how payload travels: shared memory, TCP, RDMA, or the best one that works"},
  {"cluster.chunk_bytes", "bytes", "256KiB", "64 to 64MiB, a multiple of 64; plain or with KiB, MiB", "tables are cut into chunks of this size; a chunk lives on one shard; with several hosts 512KiB"},
  {"cluster.memory_check", "choice", "refuse", "refuse, ignore", "what `launch` does with a cluster whose declared tables may take more memory than this machine has (`tidegate plan` shows how much)"},
  {"cluster.control", "map", "-", "a map", "where the coordinator listens"},
  {"cluster.control.host", "text", "127.0.0.1", "an address of the coordinator's host", "address of the control plane; with hosts, that of the coordinator's"},
  {"cluster.control.port", "number", "0", "0 to 65535", "port of the control plane; 0: the system chooses"},
  {"cluster.start_timeout", "duration", "30s", "1ms to 1h, with ms, s or m", "how long processes may take to start and join, and workers to leave when all jobs are done"},
  {"supervision", "map", "{}", "a map", "how often a process that has died is started again, and when one that hangs has died"},
  {"supervision.worker", "map", "{}", "a map", "of workers of jobs with `on_worker_loss: restart`"},
  {"supervision.worker.max_restarts", "number", "5", "0 to 1000000", "a worker that dies more often than this within the time ends the run"},
  {"supervision.worker.within", "duration", "60s", "1ms to 1h, with ms, s or m", "the time in which deaths are counted"},
  {"supervision.worker.backoff", "duration", "100ms..5s", "a duration, or a range first..last", "the pause before the second restart within the time, and the longest; it doubles from one to the next, and the first restart is at once"},
  {"supervision.shard", "map", "{}", "a map", "of all processes of a shard with replicas; without one, how often all may go back to the last checkpoints"},
  {"supervision.shard.max_restarts", "number", "5", "0 to 1000000", "as of workers"},
  {"supervision.shard.within", "duration", "60s", "1ms to 1h, with ms, s or m", "as of workers"},
  {"supervision.shard.backoff", "duration", "100ms..5s", "a duration, or a range first..last", "as of workers; the pause before everything begins again"},
  {"supervision.aggregator", "map", "{}", "a map", "of aggregators; one that dies more often takes all back to the last checkpoints, where every job has them, or ends the run"},
  {"supervision.aggregator.max_restarts", "number", "5", "0 to 1000000", "as of workers"},
  {"supervision.aggregator.within", "duration", "60s", "1ms to 1h, with ms, s or m", "as of workers"},
  {"supervision.aggregator.backoff", "duration", "100ms..5s", "a duration, or a range first..last", "as of workers"},
  {"supervision.coordinator", "map", "{}", "a map", "likewise of the coordinator"},
  {"supervision.coordinator.max_restarts", "number", "5", "0 to 1000000", "as of workers"},
  {"supervision.coordinator.within", "duration", "60s", "1ms to 1h, with ms, s or m", "as of workers"},
  {"supervision.coordinator.backoff", "duration", "100ms..5s", "a duration, or a range first..last", "as of workers"},
  {"supervision.heartbeat", "map", "{}", "a map", "what counts as a process that hangs"},
  {"supervision.heartbeat.timeout", "duration", "2s", "100ms to 1h, with ms, s or m; 0s or off: none", "a process that is stopped for longer, as by SIGSTOP or a debugger, is killed, and has died; one that computes is not stopped"},
  {"supervision.unreachable", "duration", "10s", "1s to 1h, with ms, s or m", "a process that the coordinator cannot reach for so long, although nobody has seen its end, has died; of two that cannot reach each other for so long, one is ended"},
  {"faults", "map", "{}", "a map", "what is to go wrong in this run on purpose; each hit is in events.jsonl; `launch --resume` begins with all of it again"},
  {"faults.seed", "number", "1", "0 to 18446744073709551615", "of all that is drawn"},
  {"faults.link", "map", "{}", "a map", "what happens to frames between processes; what is lost is asked for again after a second, then later"},
  {"faults.link.drop", "real", "0", "0 to 1", "share of frames that never come"},
  {"faults.link.duplicate", "real", "0", "0 to 1", "share of frames that come twice"},
  {"faults.link.delay", "real", "0", "0 to 1", "share of frames that come late"},
  {"faults.link.delay_up_to", "duration", "20ms", "1ms to 10s, with ms or s", "how late, at most"},
  {"faults.random", "map", "-", "a map", "processes are hit again and again, as by `tidegate chaos RUN_DIR random`"},
  {"faults.random.every", "text", "-", "a duration, or a range first..last", "the pause before each; 200ms..2s without it"},
  {"faults.random.roles", "list", "-", "coordinator, shard, replica, aggregator, worker", "who may be hit; workers without it"},
  {"faults.random.actions", "list", "-", "kill, stop:TIME, partition:TIME, fill:TIME", "one of them is drawn; kill without it; who is stopped goes on, a host that is cut off is healed, the disk of the run folder has room again after that time"},
  {"faults.random.count", "number", "-", "1 to 1000000", "so many, then no more"},
  {"faults.random.for", "duration", "-", "1ms to 24h, with ms, s or m", "so long, then no more"},
  {"faults.at", "map", "{}", "a map from moments to hits", "hits at a clock or a time"},
  {"faults.at.*", "text or list", "-", "kill PROCESS, stop:TIME PROCESS, partition[:TIME] HOST, heal HOST, or fill:TIME; processes as in shard-0 or worker-mlp-1; the moment is clock N, or a time after the launch", "`clock 100: kill shard-0`: when the slowest worker of a job is there; a process that is being replaced is hit when it is back"},
  {"jobs", "map", "required", "a map with at least one job", "jobs by name; they share the shards"},
  {"jobs.*", "map", "-", "a map, named by 1 to 64 of A-Z a-z 0-9 _ -", "one job: a training program run by several workers"},
  {"jobs.*.workers", "number", "1", "1 to 1024", "worker processes"},
  {"jobs.*.max_workers", "number", "-", "workers to 1024", "there is room for so many (`tidegate scale`); without it for `workers`"},
  {"jobs.*.hosts", "list", "-", "a list of names in cluster.hosts", "the hosts of the workers, which take blocks of consecutive ranks; all without it"},
  {"jobs.*.command", "list", "required", "a list of text (program, arguments), or a program", "what a worker runs; a program without slash is looked for beside tidegate, then in PATH"},
  {"jobs.*.env", "map", "{}", "a map of text", "environment of the workers, on top of that of tidegate"},
  {"jobs.*.env.*", "text", "-", "text; the name not starting with TIDEGATE_", "one environment variable"},
  {"jobs.*.consistency", "map", "{policy: bsp}", "a map", "how far the fast workers may run ahead"},
  {"jobs.*.consistency.policy", "choice", "bsp", "bsp, ssp, async", "see docs/consistency.md"},
  {"jobs.*.consistency.staleness", "number", "required by ssp", "0 to 1000000; only with policy ssp", "clocks that the fastest worker may be ahead"},
  {"jobs.*.optimizer", "map", "{name: sgd}", "a map", "what shards do with a gradient, for tables that name none; without a name its keys are of sgd"},
  {"jobs.*.on_worker_loss", "choice", "restart", "restart, fail, shrink", "what a worker's death means: another process goes on where it died, the run ends, or the others go on without it"},
  {"jobs.*.checkpoint", "map", "-", "a map", "writes checkpoints while training; with it in all jobs, the death of a shard without a replica takes everything back to the last ones"},
  {"jobs.*.checkpoint.every", "text", "required", "N clocks, or a duration of 1ms to 24h with ms, s or m", "when the next one is due"},
  {"jobs.*.checkpoint.keep", "number", "3", "1 to 1000; only with every", "how many are kept"},
  {"jobs.*.reduce", "choice", "mean", "mean, sum", "how the workers' gradients of one clock become one"},
  {"jobs.*.aggregators", "choice or map", "none", "none, per_host, or {fan_in: k}", "who sums the workers' gradients before they reach the shards: nobody, one process per host, or a tree of processes with k inputs each"},
  {"jobs.*.aggregators.fan_in", "number", "-", "2 to 1024, a power of two: sums follow a binary tree", "inputs of an aggregator; the shards get at most as many"},
  {"jobs.*.gradients", "map", "{}", "a map", "checks on what workers push"},
  {"jobs.*.gradients.not_finite", "choice", "refuse", "refuse, allow", "what happens to a gradient with NaN or infinity in it; refuse fails the job"},
  {"jobs.*.seed", "number", "1", "0 to 18446744073709551615", "first parameters and the workers' random numbers"},
  {"jobs.*.tables", "map", "{}", "a map of tables", "tables known in advance; workers may create more"},
  {"jobs.*.tables.*", "map", "-", "a map, named by 1 to 128 printable bytes", "one table: a dense float32 tensor"},
  {"jobs.*.tables.*.shape", "list", "required", "up to 8 numbers >= 1, at most 2^40 elements", "sizes of the dimensions, row-major; [] is one number"},
  {"jobs.*.tables.*.init", "map", "{constant: 0}", "{uniform: a} or {constant: v}", "first values"},
  {"jobs.*.tables.*.init.uniform", "real", "-", "a finite number >= 0", "uniform in [-a, a), drawn from the job's seed"},
  {"jobs.*.tables.*.init.constant", "real", "0", "a finite number", "the same value everywhere"},
  {"jobs.*.tables.*.optimizer", "map", "the job's", "a map", "optimizer of this table; keys not given are the job's, or with another name the defaults of that one (learning_rate stays the job's)"},
};
// clang-format on

}  // namespace

key_table known_keys() noexcept {
  static const std::vector<yaml_key> all = [] {
    std::vector<yaml_key> rows;
    for (const auto& key : keys) {
      rows.push_back(key);
      if (key.path == optimizer_of_job || key.path == optimizer_of_table)
        add_optimizer_keys(key.path, rows);
    }
    return rows;
  }();
  return all;
}

const yaml_key& key_of(std::string_view pattern, key_table table) noexcept {
  for (const auto& k : table) {
    if (k.path == pattern) return k;
  }
  TIDEGATE_ASSERT(false, "every key that is read has a row in the table");
}

std::vector<std::string> keys_below(std::string_view pattern, key_table table) {
  std::vector<std::string> below;
  for (const auto& k : table) {
    auto rest = k.path;
    if (!pattern.empty()) {
      if (!rest.starts_with(pattern) || rest.size() <= pattern.size()) continue;
      if (rest[pattern.size()] != '.') continue;
      rest.remove_prefix(pattern.size() + 1);
    }
    if (rest.find('.') == std::string_view::npos) below.emplace_back(rest);
  }
  return below;
}

std::string join_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : std::string(parent) + "." + std::string(key);
}

std::string markdown_row(const yaml_key& key) {
  std::string row = "| `";
  row += key.path;
  row += "` | ";
  row += key.type;
  row += " | ";
  row += key.preset;
  row += " | ";
  row += key.allowed;
  row += " | ";
  row += key.doc;
  row += " |";
  return row;
}

std::string keys_help(std::string_view heading, key_table table) {
  std::string text = std::string(heading) + " (`*` is a name you choose):\n";
  for (const auto& k : table) {
    text += "\n  " + std::string(k.path) + "\n      " + std::string(k.doc) + "\n      " +
            std::string(k.type) + "; default: " + std::string(k.preset) +
            "; allowed: " + std::string(k.allowed) + "\n";
  }
  return text;
}

}  // namespace tidegate::launch
