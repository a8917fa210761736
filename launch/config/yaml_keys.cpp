#include "launch/config/yaml_keys.hpp"

#include "launch/config/optimizer_keys.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::launch {

namespace {

// clang-format off
constexpr yaml_key keys[] = {
  {.path="cluster", .type="map", .preset="required", .allowed="a map", .doc="the processes that hold parameters"},
  {.path="cluster.name", .type="text", .preset="required", .allowed="1 to 64 of A-Z a-z 0-9 _ -", .doc="names the run folder"},
  {.path="cluster.engine", .type="text", .preset="local", .allowed="local, slurm, mpi, ray, kubernetes", .doc="what starts the agents of other hosts: srun in an allocation of Slurm, whose nodes are the hosts if the file names none, mpirun, actors of Ray, by tidegate.ray.launch, or pods of Kubernetes, by tidegate render kubernetes; local: what each host says"},
  {.path="cluster.engine_program", .type="text", .preset="-", .allowed="a program; only with engine", .doc="srun or mpirun under another name or path"},
  {.path="cluster.hosts", .type="map", .preset="{}", .allowed="a map of hosts", .doc="the hosts that processes run on; without it all run where the launcher does"},
  {.path="cluster.hosts.*", .type="map", .preset="-", .allowed="a map, named by 1 to 64 of A-Z a-z 0-9 _ -", .doc="one host; processes of different hosts share no memory"},
  {.path="cluster.hosts.*.address", .type="text or list", .preset="-", .allowed="an address or name of that host, or a list of them", .doc="where processes of the other hosts reach it; needed with several hosts. Of several addresses the first is that of the control plane, and connections between processes are spread over all"},
  {.path="cluster.hosts.*.prefix", .type="list", .preset="-", .allowed="a list of text (program, arguments)", .doc="goes before the command of the host's agent, `tidegate host`, which starts its processes, as in [ip, netns, exec, blue]; without it the launcher does"},
  {.path="cluster.hosts.*.ssh", .type="text", .preset="-", .allowed="[user@]name, as of ssh", .doc="the OpenSSH client starts the host's agent there, in place of a prefix; its address is that name unless the file says another"},
  {.path="cluster.hosts.*.port", .type="number", .preset="-", .allowed="1 to 65535; only with ssh", .doc="of ssh; as the client is set up without it"},
  {.path="cluster.hosts.*.key", .type="text", .preset="-", .allowed="a file; only with ssh", .doc="the private key for ssh; those that ssh finds by itself without it"},
  {.path="cluster.hosts.*.program", .type="text", .preset="-", .allowed="a path; only with ssh", .doc="of tidegate on that host; where the launcher has its own without it"},
  {.path="cluster.hosts.*.rack", .type="text", .preset="-", .allowed="1 to 64 of A-Z a-z 0-9 _ -", .doc="hosts with the same are near each other: aggregators may be per_rack, and replicas are in other racks than what they copy, where there are some; in a rack of its own without it"},
  {.path="cluster.hosts.*.room", .type="number", .preset="-", .allowed="0 to 65536", .doc="so many processes of hosts that are lost may come here; any number without it"},
  {.path="cluster.coordinator_host", .type="text", .preset="-", .allowed="a name in cluster.hosts", .doc="the host of the coordinator, the first without it; the launcher must reach it, too"},
  {.path="cluster.shards", .type="number or map", .preset="1", .allowed="1 to 1024, or a map", .doc="shard processes; each holds a part of the parameters"},
  {.path="cluster.shards.count", .type="number", .preset="1", .allowed="1 to 1024", .doc="how many"},
  {.path="cluster.shards.device_memory", .type="bytes", .preset="-", .allowed="16 * cluster.chunk_bytes to 1TiB; plain or with KiB, MiB, GiB", .doc="of the device, for chunks of each shard: those used last are there, the others in memory of the host; without it all of them are on the device; rows of tables take as much beside them"},
  {.path="cluster.shards.device", .type="text", .preset="-", .allowed="cuda:N, a GPU of its host, or emulated:N, for tests", .doc="where each shard process keeps and steps its parameters; without it in the host's memory. `--device NAME` sets it"},
  {.path="cluster.max_shards", .type="number", .preset="-", .allowed="cluster.shards to 1024", .doc="lets shards move while jobs run (tidegate scale RUN_DIR shards=N): parameters are in so many parts, which the shard processes share out among them; without it each has one, and keeps it"},
  {.path="cluster.replicas", .type="number", .preset="0", .allowed="0 to 2", .doc="of each shard: processes that take its place when it dies, so many of a group may die at once; workers keep what they have pushed until all have it"},
  {.path="cluster.shard_hosts", .type="list", .preset="-", .allowed="a list of names in cluster.hosts", .doc="the hosts of the shards, which take them in turn; all without it"},
  {.path="cluster.transport", .type="choice", .preset="auto", .allowed="auto, shm, tcp, ucx, rdma", .doc="how payload travels: shared memory, TCP connections of our own, UCX over TCP, UCX over RDMA, or the best one that works"},
  {.path="cluster.chunk_bytes", .type="bytes", .preset="256KiB", .allowed="64 to 64MiB, a multiple of 64; plain or with KiB, MiB", .doc="tables are cut into chunks of this size; a chunk lives on one shard; with several hosts 512KiB; where shards are on a device 16MiB, or less as device_memory demands"},
  {.path="cluster.memory_check", .type="choice", .preset="refuse", .allowed="refuse, ignore", .doc="what `launch` does with a cluster whose declared tables may take more memory than this machine has (`tidegate plan` shows how much)"},
  {.path="cluster.traces", .type="choice", .preset="true", .allowed="true, false", .doc="whether each process keeps in memory what it did last, 16,384 spans in 1 MiB, for `tidegate trace`"},
  {.path="cluster.rows_dir", .type="text", .preset="-", .allowed="an absolute path", .doc="where shards keep rows that do not fit the memory of their table, on each host: a folder of a fast disk; without it in the run folder"},
  {.path="cluster.plugins", .type="list", .preset="-", .allowed="a list of paths", .doc="shared libraries with functions of yours that shards run for workers (include/tidegate/plugin.h); on every host, relative to where `launch` is called"},
  {.path="cluster.plugin_timeout", .type="duration", .preset="10s", .allowed="1ms to 1h, with ms, s or m", .doc="a function of a plugin that runs for longer ends its process, and the log names it"},
  {.path="cluster.control", .type="map", .preset="-", .allowed="a map", .doc="where the coordinator listens"},
  {.path="cluster.control.host", .type="text", .preset="127.0.0.1", .allowed="an address of the coordinator's host", .doc="address of the control plane; with hosts, that of the coordinator's"},
  {.path="cluster.control.port", .type="number", .preset="0", .allowed="0 to 65535", .doc="port of the control plane; 0: the system chooses"},
  {.path="cluster.start_timeout", .type="duration", .preset="30s", .allowed="1ms to 1h, with ms, s or m", .doc="how long processes may take to start and join, and workers to leave when all jobs are done"},
  {.path="security", .type="map", .preset="{}", .allowed="a map", .doc="what is done against those who read or change what crosses a network"},
  {.path="security.encrypt", .type="choice", .preset="false", .allowed="true, false", .doc="what processes say to each other is encrypted and authenticated (docs/security.md); not with cluster.transport ucx or rdma"},
  {.path="monitor", .type="map", .preset="-", .allowed="a map", .doc="the launcher answers HTTP requests how the run goes on (docs/observing.md); without it there is no port"},
  {.path="monitor.address", .type="text", .preset="-", .allowed="ADDRESS:PORT or [ADDRESS]:PORT, of the launcher's host; port 0: the system chooses", .doc="where it listens; without it 127.0.0.1:9464"},
  {.path="monitor.key_file", .type="text", .preset="-", .allowed="an absolute path", .doc="a file with the key, of 16 characters or more, that whoever asks must have; needed where the address is not of loopback"},
  {.path="otlp", .type="map", .preset="-", .allowed="a map", .doc="the launcher sends the metrics of the run to a collector of OpenTelemetry (docs/metrics.md#send-them); without it they are sent nowhere"},
  {.path="otlp.url", .type="text", .preset="required", .allowed="http or https://HOST[:PORT][/PATH], without a user", .doc="where to, as OTLP over HTTP in JSON; without a path /v1/metrics"},
  {.path="otlp.every", .type="duration", .preset="-", .allowed="1s to 1h, with ms, s or m", .doc="from one send to the next, 10s without it; the last is at the end of the run"},
  {.path="otlp.timeout", .type="duration", .preset="-", .allowed="100ms to 60s, with ms, s or m", .doc="for a request and its answer, 5s without it; one that takes longer is given up, and newer values follow in their turn"},
  {.path="otlp.headers_file", .type="text", .preset="-", .allowed="an absolute path", .doc="a file of its owner alone with lines `Name: value` that each request has, such as a key"},
  {.path="otlp.certificates", .type="text", .preset="-", .allowed="an absolute path", .doc="certificates that are trusted for https, PEM; without it those of the system"},
  {.path="supervision", .type="map", .preset="{}", .allowed="a map", .doc="how often a process that has died is started again, and when one that hangs has died"},
  {.path="supervision.worker", .type="map", .preset="{}", .allowed="a map", .doc="of workers of jobs with `on_worker_loss: restart`"},
  {.path="supervision.worker.max_restarts", .type="number", .preset="5", .allowed="0 to 1000000", .doc="a worker that dies more often than this within the time ends its job"},
  {.path="supervision.worker.within", .type="duration", .preset="60s", .allowed="1ms to 1h, with ms, s or m", .doc="the time in which deaths are counted"},
  {.path="supervision.worker.backoff", .type="duration", .preset="100ms..5s", .allowed="a duration, or a range first..last", .doc="the pause before the second restart within the time, and the longest; it doubles from one to the next, and the first restart is at once"},
  {.path="supervision.shard", .type="map", .preset="{}", .allowed="a map", .doc="of all processes of a shard with replicas; without one, how often all may go back to the last checkpoints"},
  {.path="supervision.shard.max_restarts", .type="number", .preset="5", .allowed="0 to 1000000", .doc="as of workers"},
  {.path="supervision.shard.within", .type="duration", .preset="60s", .allowed="1ms to 1h, with ms, s or m", .doc="as of workers"},
  {.path="supervision.shard.backoff", .type="duration", .preset="100ms..5s", .allowed="a duration, or a range first..last", .doc="as of workers; the pause before everything begins again"},
  {.path="supervision.aggregator", .type="map", .preset="{}", .allowed="a map", .doc="of aggregators; one that dies more often takes all back to the last checkpoints, where every job has them, or ends the run"},
  {.path="supervision.aggregator.max_restarts", .type="number", .preset="5", .allowed="0 to 1000000", .doc="as of workers"},
  {.path="supervision.aggregator.within", .type="duration", .preset="60s", .allowed="1ms to 1h, with ms, s or m", .doc="as of workers"},
  {.path="supervision.aggregator.backoff", .type="duration", .preset="100ms..5s", .allowed="a duration, or a range first..last", .doc="as of workers"},
  {.path="supervision.coordinator", .type="map", .preset="{}", .allowed="a map", .doc="likewise of the coordinator"},
  {.path="supervision.coordinator.max_restarts", .type="number", .preset="5", .allowed="0 to 1000000", .doc="as of workers"},
  {.path="supervision.coordinator.within", .type="duration", .preset="60s", .allowed="1ms to 1h, with ms, s or m", .doc="as of workers"},
  {.path="supervision.coordinator.backoff", .type="duration", .preset="100ms..5s", .allowed="a duration, or a range first..last", .doc="as of workers"},
  {.path="supervision.heartbeat", .type="map", .preset="{}", .allowed="a map", .doc="what counts as a process that hangs"},
  {.path="supervision.heartbeat.timeout", .type="duration", .preset="2s", .allowed="100ms to 1h, with ms, s or m; 0s or off: none", .doc="a process that is stopped for longer, as by SIGSTOP or a debugger, is killed, and has died; one that computes is not stopped"},
  {.path="supervision.unreachable", .type="duration", .preset="10s", .allowed="1s to 1h, with ms, s or m", .doc="a process that the coordinator cannot reach for so long, although nobody has seen its end, has died; of two that cannot reach each other for so long, one is ended"},
  {.path="faults", .type="map", .preset="{}", .allowed="a map", .doc="what is to go wrong in this run on purpose; each hit is in events.jsonl; `launch --resume` begins with all of it again"},
  {.path="faults.seed", .type="number", .preset="1", .allowed="0 to 18446744073709551615", .doc="of all that is drawn"},
  {.path="faults.link", .type="map", .preset="{}", .allowed="a map", .doc="what happens to frames between processes; what is lost is asked for again after a second, then later"},
  {.path="faults.link.drop", .type="real", .preset="0", .allowed="0 to 1", .doc="share of frames that never come"},
  {.path="faults.link.duplicate", .type="real", .preset="0", .allowed="0 to 1", .doc="share of frames that come twice"},
  {.path="faults.link.delay", .type="real", .preset="0", .allowed="0 to 1", .doc="share of frames that come late"},
  {.path="faults.link.delay_up_to", .type="duration", .preset="20ms", .allowed="1ms to 10s, with ms or s", .doc="how late, at most"},
  {.path="faults.slow", .type="map", .preset="{}", .allowed="a map from processes to maps; processes as in worker-mlp-1 or shard-0", .doc="processes that are slower than the others, to see what shows it (docs/observing.md)"},
  {.path="faults.slow.*", .type="map", .preset="-", .allowed="a map", .doc="how one of them is slow"},
  {.path="faults.slow.*.factor", .type="real", .preset="1", .allowed="1 to 1000", .doc="how many times as long a worker computes between its calls; workers only"},
  {.path="faults.slow.*.from", .type="number", .preset="0", .allowed="a clock, from 0", .doc="the factor counts from this clock of the worker on"},
  {.path="faults.slow.*.until", .type="number", .preset="-", .allowed="a clock after from", .doc="and no more from this one on; without it to the end"},
  {.path="faults.slow.*.link_delay", .type="duration", .preset="0ms", .allowed="0ms to 10s, with ms or s", .doc="how much later each frame comes that the process sends, as long as it runs"},
  {.path="faults.slow.*.disk_delay", .type="duration", .preset="0ms", .allowed="0ms to 60s, with ms or s", .doc="how much longer a shard takes to write its part of each checkpoint; shards and replicas"},
  {.path="faults.random", .type="map", .preset="-", .allowed="a map", .doc="processes are hit again and again, as by `tidegate chaos RUN_DIR random`"},
  {.path="faults.random.every", .type="text", .preset="-", .allowed="a duration, or a range first..last", .doc="the pause before each; 200ms..2s without it"},
  {.path="faults.random.roles", .type="list", .preset="-", .allowed="coordinator, shard, replica, aggregator, worker", .doc="who may be hit; workers without it"},
  {.path="faults.random.actions", .type="list", .preset="-", .allowed="kill, stop:TIME, partition:TIME, fill:TIME", .doc="one of them is drawn; kill without it; who is stopped goes on, a host that is cut off is healed, the disk of the run folder has room again after that time"},
  {.path="faults.random.count", .type="number", .preset="-", .allowed="1 to 1000000", .doc="so many, then no more"},
  {.path="faults.random.for", .type="duration", .preset="-", .allowed="1ms to 24h, with ms, s or m", .doc="so long, then no more"},
  {.path="faults.at", .type="map", .preset="{}", .allowed="a map from moments to hits", .doc="hits at a clock or a time"},
  {.path="faults.at.*", .type="text or list", .preset="-", .allowed="kill PROCESS, stop:TIME PROCESS, partition[:TIME] HOST, heal HOST, or fill:TIME; processes as in shard-0 or worker-mlp-1; the moment is clock N, or a time after the launch", .doc="`clock 100: kill shard-0`: when the slowest worker of a job is there; a process that is being replaced is hit when it is back"},
  {.path="jobs", .type="map", .preset="required", .allowed="a map with at least one job", .doc="jobs by name; they share the shards"},
  {.path="jobs.*", .type="map", .preset="-", .allowed="a map, named by 1 to 64 of A-Z a-z 0-9 _ -", .doc="one job: a training program run by several workers"},
  {.path="jobs.*.workers", .type="number", .preset="1", .allowed="1 to 1024", .doc="worker processes"},
  {.path="jobs.*.max_workers", .type="number", .preset="-", .allowed="workers to 1024", .doc="there is room for so many (`tidegate scale`); without it for `workers`"},
  {.path="jobs.*.hosts", .type="list", .preset="-", .allowed="a list of names in cluster.hosts", .doc="the hosts of the workers, which take blocks of consecutive ranks; all without it"},
  {.path="jobs.*.command", .type="list", .preset="required", .allowed="a list of text (program, arguments), or a program", .doc="what a worker runs; a program without slash is looked for beside tidegate, then in PATH"},
  {.path="jobs.*.stage", .type="list", .preset="-", .allowed="a list of files and folders", .doc="what each host with an agent is to have as the launcher's has it, under the same path: the agent copies files that are not there, or are others by their SHA-256, before anything is started"},
  {.path="jobs.*.env", .type="map", .preset="{}", .allowed="a map of text", .doc="environment of the workers, on top of that of tidegate"},
  {.path="jobs.*.env.*", .type="text", .preset="-", .allowed="text; the name not starting with TIDEGATE_", .doc="one environment variable"},
  {.path="jobs.*.consistency", .type="map", .preset="{policy: bsp}", .allowed="a map", .doc="how far the fast workers may run ahead"},
  {.path="jobs.*.consistency.policy", .type="choice", .preset="bsp", .allowed="bsp, ssp, async", .doc="see docs/consistency.md"},
  {.path="jobs.*.consistency.staleness", .type="number", .preset="required by ssp", .allowed="0 to 1000000; only with policy ssp", .doc="clocks that the fastest worker may be ahead"},
  {.path="jobs.*.optimizer", .type="name or map", .preset="sgd", .allowed="the name of an optimizer, or a map", .doc="what shards do with a gradient, for tables that name none; without a name its keys are of sgd"},
  {.path="jobs.*.on_worker_loss", .type="choice", .preset="restart", .allowed="restart, fail, shrink", .doc="what a worker's death means: another process goes on where it died, the job ends, or the others go on without it"},
  {.path="jobs.*.spares", .type="number", .preset="0", .allowed="0 to 64; with `on_worker_loss: restart`", .doc="so many processes of `command` on each host of the workers have begun and wait, and one that they may be copies of: one takes the place of a worker that dies (docs/fault_tolerance.md)"},
  {.path="jobs.*.checkpoint", .type="map", .preset="-", .allowed="a map", .doc="writes checkpoints while training; with it in all jobs, the death of a shard without a replica takes everything back to the last ones"},
  {.path="jobs.*.checkpoint.every", .type="text", .preset="required", .allowed="N clocks, or a duration of 1ms to 24h with ms, s or m", .doc="when the next one is due"},
  {.path="jobs.*.checkpoint.keep", .type="number", .preset="3", .allowed="1 to 1000; only with every", .doc="how many are kept"},
  {.path="jobs.*.checkpoint.full_every", .type="number", .preset="1", .allowed="1 to 100; only with every", .doc="one of so many has all rows of tables of rows; the others have those that were pushed since the one before, and need it"},
  {.path="jobs.*.checkpoint.path", .type="text", .preset="-", .allowed="an absolute path, or s3://BUCKET/PREFIX; only with every", .doc="checkpoints of the job go to PATH/JOB, in a folder that all hosts share or in a store of objects, and outlive the run folder (docs/fault_tolerance.md); without it they are in the run folder"},
  {.path="jobs.*.reduce", .type="choice", .preset="mean", .allowed="mean, sum", .doc="how the workers' gradients of one clock become one"},
  {.path="jobs.*.aggregators", .type="choice or map", .preset="none", .allowed="none, per_host, per_rack, or {fan_in: k}", .doc="who sums the workers' gradients before they reach the shards: nobody, one process per host, one per host and then one per rack, or a tree of processes with k inputs each"},
  {.path="jobs.*.aggregators.fan_in", .type="number", .preset="-", .allowed="2 to 1024, a power of two: sums follow a binary tree", .doc="inputs of an aggregator; the shards get at most as many"},
  {.path="jobs.*.gradients", .type="map", .preset="{}", .allowed="a map", .doc="what is done about gradients before steps are made with them"},
  {.path="jobs.*.gradients.clip_norm", .type="real", .preset="0", .allowed="a finite number >= 0; above 0 only under consistency bsp", .doc="brings the norm of a clock's whole reduced gradient, over all tables, down to it; 0: no limit"},
  {.path="jobs.*.gradients.not_finite", .type="choice", .preset="refuse", .allowed="refuse, allow", .doc="what happens to a gradient with NaN or infinity in it; refuse fails the job"},
  {.path="jobs.*.state", .type="map", .preset="{}", .allowed="a map", .doc="what workers keep that outlives their processes (Session.state, session::state)"},
  {.path="jobs.*.state.max", .type="bytes", .preset="-", .allowed="0, or 4KiB to 1048576MiB, a multiple of 8; plain or with KiB, MiB", .doc="each worker may keep so much, 1MiB without it, in memory of its host that holds it up to four times; 0: none"},
  {.path="jobs.*.state.mirror_every", .type="number", .preset="0", .allowed="0 to 1000000; above 0 only with a max of at most 16MiB", .doc="of so many versions of what a worker keeps one is copied to the launcher before its clock's last push leaves, in case the worker's host is lost; 1: every one, so that nothing is lost; 0: none"},
  {.path="jobs.*.seed", .type="number", .preset="1", .allowed="0 to 18446744073709551615", .doc="first parameters and the workers' random numbers"},
  {.path="jobs.*.tables", .type="map", .preset="{}", .allowed="a map of tables", .doc="tables known in advance; workers may create more"},
  {.path="jobs.*.tables.*", .type="map", .preset="-", .allowed="a map, named by 1 to 128 printable bytes", .doc="one table: a dense float32 tensor, or rows by id"},
  {.path="jobs.*.tables.*.rows", .type="choice", .preset="-", .allowed="dynamic", .doc="a table of rows by 64-bit ids, which are made when they are pushed, in place of a dense one of a shape"},
  {.path="jobs.*.tables.*.dim", .type="number", .preset="required", .allowed="1 to 4096; only with rows", .doc="float32 values of a row"},
  {.path="jobs.*.tables.*.capacity", .type="number", .preset="16777216", .allowed="1 to 68719476736; only with rows, not with evict.rows", .doc="rows that there is room for; memory is taken as they are made"},
  {.path="jobs.*.tables.*.admit", .type="map", .preset="{count: 1}", .allowed="a map; only with rows", .doc="when an id gets a row"},
  {.path="jobs.*.tables.*.admit.count", .type="number", .preset="1", .allowed="1 to 65535", .doc="steps with a push of its id that a row takes to be made; it makes the last of them, and what was pushed before is not applied"},
  {.path="jobs.*.tables.*.admit.candidates", .type="number", .preset="as many as rows", .allowed="1 to 68719476736; only with count above 1", .doc="ids whose pushes are counted; those pushed longest ago are forgotten"},
  {.path="jobs.*.tables.*.evict", .type="map", .preset="{}", .allowed="a map; only with rows", .doc="which rows are erased; an id whose row is erased begins anew when it is pushed again"},
  {.path="jobs.*.tables.*.evict.unseen", .type="text", .preset="-", .allowed="N clocks, 1 to 1099511627776", .doc="a row that nobody has pushed for so many clocks is erased, and a candidate forgotten: in a step of its part, up to a sixteenth of that time later"},
  {.path="jobs.*.tables.*.evict.rows", .type="number", .preset="-", .allowed="1 to 68719476736, no fewer than parts; not with capacity", .doc="rows at most: where a step leaves more in a part, which has its share, those above 15/16 of it are erased"},
  {.path="jobs.*.tables.*.evict.by", .type="choice", .preset="lru", .allowed="lru, lfu, l2; only with rows", .doc="which go first: those pushed longest ago, pushed least often, or with the least sum of squares"},
  {.path="jobs.*.tables.*.memory", .type="bytes", .preset="-", .allowed="64KiB for each part to 16TiB; plain or with KiB, MiB, GiB; only with rows", .doc="values and optimizer state of rows that each shard keeps in memory; the rest lies in a file in cluster.rows_dir, and rows used last stay; without it all are in memory"},
  {.path="jobs.*.tables.*.parts", .type="number", .preset="64", .allowed="1 to 4096; only with rows", .doc="parts that the rows are spread over, by a hash of their ids; a part lives on one shard"},
  {.path="jobs.*.tables.*.shape", .type="list", .preset="required", .allowed="up to 8 numbers >= 1, at most 2^40 elements", .doc="sizes of the dimensions of a dense table, row-major; [] is one number"},
  {.path="jobs.*.tables.*.init", .type="map", .preset="{constant: 0}", .allowed="{uniform: a}, {constant: v} or {pushed: true}", .doc="first values; of rows {uniform: 0.01}, and not pushed"},
  {.path="jobs.*.tables.*.init.uniform", .type="real", .preset="-", .allowed="a finite number >= 0", .doc="uniform in [-a, a), drawn from the job's seed"},
  {.path="jobs.*.tables.*.init.pushed", .type="choice", .preset="false", .allowed="true, false", .doc="the sum of what workers push at clock 0, whatever the optimizer; 0 before"},
  {.path="jobs.*.tables.*.init.constant", .type="real", .preset="0", .allowed="a finite number", .doc="the same value everywhere"},
  {.path="jobs.*.tables.*.segments", .type="list", .preset="-", .allowed="a list of 1 to 8 maps; only with rows, not with optimizer and init", .doc="columns of each row, side by side, with an optimizer and first values of their own; what an optimizer looks at together is those of one"},
  {.path="jobs.*.tables.*.segments.*", .type="map", .preset="-", .allowed="a map with columns", .doc="one segment, in the order of the columns"},
  {.path="jobs.*.tables.*.segments.*.columns", .type="number", .preset="required", .allowed="1 to 4096, together as many as dim", .doc="its columns; dim may be left out"},
  {.path="jobs.*.tables.*.segments.*.init", .type="map", .preset="{uniform: 0.01}", .allowed="{uniform: a} or {constant: v}", .doc="its first values"},
  {.path="jobs.*.tables.*.segments.*.init.uniform", .type="real", .preset="-", .allowed="a finite number >= 0", .doc="as in the table's init"},
  {.path="jobs.*.tables.*.segments.*.init.pushed", .type="choice", .preset="false", .allowed="false", .doc="not for rows"},
  {.path="jobs.*.tables.*.segments.*.init.constant", .type="real", .preset="0", .allowed="a finite number", .doc="as in the table's init"},
  {.path="jobs.*.tables.*.segments.*.optimizer", .type="name or map", .preset="the job's", .allowed="the name of an optimizer, or a map", .doc="optimizer of these columns, as the table's optimizer"},
  {.path="jobs.*.tables.*.optimizer", .type="name or map", .preset="the job's", .allowed="the name of an optimizer, or a map", .doc="optimizer of this table; keys not given are the job's, or with another name the defaults of that one (learning_rate, schedule, clip_value, lazy and reduce stay the job's)"},
};
// clang-format on

}  // namespace

key_table known_keys() noexcept {
  static const std::vector<yaml_key> all = [] {
    std::vector<yaml_key> rows;
    for (const auto& key : keys) {
      rows.push_back(key);
      if (key.path == optimizer_of_job || key.path == optimizer_of_table ||
          key.path == optimizer_of_segment)
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
