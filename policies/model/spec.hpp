// What a user asks for: the cluster, its jobs, their tables. Plain values, made by launch/ from
// YAML, read by the coordinator, sent to shards and workers. No behaviour beyond defaults;
// `validate` in launch/ says what is wrong with one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/model/fault_spec.hpp"
#include "policies/model/policy_traits.hpp"
#include "policies/model/state_layout.hpp"
#include "runtime/base/row_lifetime.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::policies {

struct consistency_spec {
  consistency_kind kind = consistency_kind::bsp;
  std::uint32_t staleness = 0;  // clocks; only with policy_traits::has_staleness

  friend bool operator==(const consistency_spec&, const consistency_spec&) = default;
};

// An optimizer with its options.
using optimizer_kind = runtime::optimizer_kind;
using optimizer_spec = runtime::optimizer_options;

using runtime::state_arrays;

// Returns what an optimizer has when only its name is given.
constexpr optimizer_spec default_optimizer(optimizer_kind kind) noexcept {
  return runtime::traits_of(kind).defaults;
}

enum class init_kind : std::uint8_t { constant, uniform, pushed };

// The first value of every element: `value` for constant; uniform in [-value, value) as a pure
// function of (job seed, table name, element index), so that chunks and shards do not matter.
// `pushed`: 0, and a step of clock 0 sets it to the sum of its pushes, whatever the optimizer
// and the job's reduce, or to what another reduction of the table makes of them; one worker
// pushes, as a rule (under ssp and async each push is a step).
struct init_spec {
  init_kind kind = init_kind::constant;
  float value = 0.0F;

  friend bool operator==(const init_spec&, const init_spec&) = default;
};

// Columns of each row of a table, side by side, with an optimizer and first values of their
// own: as one number of a linear model beside a vector of a deep one.
struct row_segment_spec {
  std::uint32_t columns = 0;
  optimizer_spec optimizer;
  init_spec init = {.kind = init_kind::uniform, .value = 0.01F};

  friend bool operator==(const row_segment_spec&, const row_segment_spec&) = default;
};

// A table of rows by 64-bit ids, which lie in parts by the hash of their id. A row is made when
// it is pushed; until then it has its first values, as `init` says: uniform ones are a
// function of (job seed, table name, id, column).
struct rows_spec {
  std::uint32_t dim = 0;       // float32 values of a row; 0: the table is dense
  std::uint64_t capacity = 0;  // rows that there is room for, in all parts
  init_spec init = {.kind = init_kind::uniform, .value = 0.01F};
  // Of the whole table. Where it bounds the rows, that is the capacity.
  runtime::row_lifetime lifetime = {};
  // In the order of the columns, `dim` of them together. None: all columns have `init`, and the
  // table's optimizer; else that is the first segment's.
  std::vector<row_segment_spec> segments = {};
  // Bytes of values and states that each shard keeps in memory at most, the rest lies in a file
  // (cluster_spec::rows_dir); 0: all is in memory.
  std::uint64_t memory = 0;

  friend bool operator==(const rows_spec&, const rows_spec&) = default;
};
inline constexpr std::uint32_t row_parts_default = 64;
inline constexpr std::uint64_t row_capacity_default = 1ULL << 24U;
// Returns the lifetime of rows of one of so many parts, which has its share of the numbers.
constexpr runtime::row_lifetime part_lifetime(const runtime::row_lifetime& of_table,
                                              std::uint64_t parts) noexcept {
  auto lifetime = of_table;
  lifetime.candidates = (of_table.candidates + parts - 1) / parts;
  lifetime.rows = (of_table.rows + parts - 1) / parts;
  return lifetime;
}
// Rows that one part has room for: somewhat more than its share of the table, as the hash of
// ids does not spread them evenly; or what its lifetime leaves and a block of a step.
constexpr std::uint64_t part_capacity(const rows_spec& rows, std::uint64_t parts) noexcept {
  const auto kept = part_lifetime(rows.lifetime, parts).rows;
  if (kept > 0) return kept + runtime::lifetime_block;
  const auto share = rows.capacity / parts + 1;
  return share + share / 4 + 64;
}

// A table: a dense float32 tensor, row-major, or rows in shape[0] parts, each of which counts
// as one element.
struct table_spec {
  std::string name;
  std::vector<std::uint64_t> shape;
  optimizer_spec optimizer;
  init_spec init;
  rows_spec rows = {};

  bool has_rows() const noexcept { return rows.dim > 0; }

  // Number of elements: the product of the shape; 1 for an empty shape (a scalar). The largest
  // number there is when the product is larger.
  std::uint64_t size() const noexcept {
    std::uint64_t n = 1;
    for (auto d : shape)
      if (__builtin_mul_overflow(n, d, &n)) return ~std::uint64_t{0};
    return n;
  }

  friend bool operator==(const table_spec&, const table_spec&) = default;
};

enum class reduce_kind : std::uint8_t { mean, sum };  // of the workers' gradients of one clock
// Returns the factor of the sum of gradients where so many workers push.
constexpr float scale_of(reduce_kind reduce, std::uint32_t contributors) noexcept {
  return reduce == reduce_kind::mean ? 1.0F / static_cast<float>(contributors) : 1.0F;
}
// Likewise of a table, whose optimizer may say another reduction than the job.
constexpr float scale_of(const optimizer_spec& optimizer, reduce_kind of_job,
                         std::uint32_t contributors) noexcept {
  if (optimizer.reduce == runtime::reduction::of_job) return scale_of(of_job, contributors);
  return optimizer.reduce == runtime::reduction::mean
             ? scale_of(reduce_kind::mean, contributors)
             : 1.0F;
}
// Returns the factor of a reduced gradient whose norm is brought down to `clip_norm`, where the
// squares of its elements are these in sum: 1 for a shorter one, and where `clip_norm` is 0; 0
// for infinity.
inline float norm_factor(float clip_norm, double squares) noexcept {
  const auto norm = std::sqrt(squares);
  return clip_norm > 0 && norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0F;
}
// Returns the norm that gradients of a table are clipped to where the job has this one:
// `assign` keeps sums, which are no gradient of the model.
constexpr float clip_norm_of(float clip_norm, optimizer_kind kind) noexcept {
  return kind == optimizer_kind::assign ? 0.0F : clip_norm;
}
enum class not_finite_rule : std::uint8_t { refuse, allow };
// When a checkpoint of a job is taken, by clocks or by time, and how many are kept, with those
// that they need.
struct checkpoint_spec {
  std::uint64_t every_clocks = 0;  // 0: by time
  std::uint64_t every_ms = 0;
  std::uint32_t keep = 3;
  // One of so many has all rows of tables of rows; others have those that have changed
  // since the one before.
  std::uint32_t full_every = 1;
  // Absolute: a folder that all hosts share, for FOLDER/JOB. Empty: in the run folder.
  std::string path = {};

  friend bool operator==(const checkpoint_spec&, const checkpoint_spec&) = default;
};

// What a worker's death means: a new process goes on at the clock where it died (restart), the
// job fails (fail), or the others go on without it (shrink). The last worker that a job has
// comes back under shrink, too.
enum class worker_loss_rule : std::uint8_t { restart, fail, shrink };
constexpr bool workers_come_back(worker_loss_rule rule) noexcept {
  return rule != worker_loss_rule::fail;
}

// Which aggregators sum workers' gradients on the way to the shards: none, one per host, one
// per host and then one per rack, or a tree of aggregators that have `fan_in` (a power of two)
// inputs each.
enum class aggregators_kind : std::uint8_t { none, per_host, per_rack, fan_in };

struct aggregators_spec {
  aggregators_kind kind = aggregators_kind::none;
  std::uint32_t fan_in = 0;

  friend bool operator==(const aggregators_spec&, const aggregators_spec&) = default;
};

// Of a job, on each host of its workers.
inline constexpr std::uint32_t spares_max = 64;

struct job_spec {
  std::string name;
  std::uint32_t workers = 1;         // that the job begins with
  std::uint32_t max_workers = 0;     // that there is room for; 0: for `workers`
  std::vector<std::string> command;  // program and arguments of a worker
  // Files and folders that the hosts are to have as the launcher's has them, under the same
  // paths.
  std::vector<std::string> stage = {};
  std::map<std::string, std::string> env;
  consistency_spec consistency;
  optimizer_spec optimizer;  // the default for tables that name none
  reduce_kind reduce = reduce_kind::mean;
  aggregators_spec aggregators;
  // The norm of the whole reduced gradient of a clock, of all tables, is brought down to this;
  // 0: no limit. Under bsp alone, and without aggregators.
  float clip_norm = 0.0F;
  not_finite_rule not_finite = not_finite_rule::refuse;
  worker_loss_rule on_worker_loss = worker_loss_rule::restart;
  // Processes of the program that wait for the place of a worker that dies, on each host of the
  // job's workers.
  std::uint32_t spares = 0;
  std::optional<checkpoint_spec> checkpoint;
  // What each worker may keep beside the parameters, in bytes; 0: nothing.
  std::optional<std::uint64_t> state_bytes;
  // Versions of how many clocks to copy one of to the launcher, in case the worker's host is
  // lost; 0: none.
  std::uint64_t state_mirror_every = 0;
  std::uint64_t seed = 1;
  std::vector<table_spec> tables;  // declared ones; workers may create more
  std::vector<std::string> hosts;  // of the workers, by name; empty: all of the cluster

  std::uint32_t capacity() const noexcept { return std::max(workers, max_workers); }
  std::uint64_t state_bytes_max() const noexcept {
    return state_bytes.value_or(default_state_bytes);
  }
};

// What starts the agents of hosts that say nothing about it: nothing, Slurm's srun, mpirun, or
// actors of Ray, whose program is in Python and says which hosts there are.
enum class engine_kind : std::uint8_t { local, slurm, mpi, ray, kubernetes };

enum class transport_kind : std::uint8_t { automatic, shm, tcp, ucx, rdma };

// Returns true if processes of one host send each other their payload, too.
constexpr bool sends_within_host(transport_kind transport) noexcept {
  return transport == transport_kind::tcp || transport == transport_kind::ucx;
}

// What is done against those who read or change what crosses a network.
struct security_spec {
  bool encrypt = false;  // what processes say to each other

  friend bool operator==(const security_spec&, const security_spec&) = default;
};

// Where the launcher answers over HTTP how the run goes on.
struct monitor_spec {
  std::string host;        // an address
  std::uint16_t port = 0;  // 0: the system chooses
  // A file of the launcher's host with the key that who asks must have; empty: nobody needs
  // one, and the address is of loopback.
  std::string key_file;

  friend bool operator==(const monitor_spec&, const monitor_spec&) = default;
};

// A machine, or a network namespace that stands for one. Processes of different hosts never
// share memory.
inline constexpr std::size_t host_addresses_max = 16;

struct host_spec {
  std::string name;
  std::string address;  // at which the others reach it; empty: loopback
  // Goes before the command of its agent, which starts its processes; empty: the launcher does.
  std::vector<std::string> prefix = {};
  // "user@name": the OpenSSH client starts its agent; then there is no prefix.
  std::string ssh = {};
  std::uint16_t ssh_port = 0;  // 0: as the client is set up
  std::string ssh_key = {};    // a file; empty: those that the client knows
  std::string program = {};  // of Tidegate on that host; empty: where the launcher has its own
  // Hosts of the same rack are nearer to each other than to others, and more likely to be lost
  // together; empty: in a rack of its own.
  std::string rack = {};
  // So many processes of other hosts, of those that are lost, may come; nothing: any number.
  std::optional<std::uint32_t> room = std::nullopt;
  // Further addresses, in other networks: connections of its processes are spread over all.
  // None without an address.
  std::vector<std::string> rails = {};

  friend bool operator==(const host_spec&, const host_spec&) = default;
};

// A chunk is a frame of its own between hosts, and larger ones cost less there; on one host
// smaller ones stay in the cache from the sum to the step. On a device each chunk is a launch,
// which takes the host as long as the device needs for some MiB.
constexpr std::uint64_t default_chunk_bytes(std::size_t hosts, bool on_device) noexcept {
  if (on_device) return 16 * 1024 * 1024;
  return hosts > 1 ? 512 * 1024 : 256 * 1024;
}

// How often a process may be started again, as in Erlang/OTP: more than max_restarts deaths
// within within_ms end the run. After the first death it comes back at once, after others after
// a pause that doubles from backoff_first_ms to backoff_last_ms.
struct restart_spec {
  std::uint32_t max_restarts = 5;
  std::uint32_t within_ms = 60'000;
  std::uint32_t backoff_first_ms = 100;
  std::uint32_t backoff_last_ms = 5'000;

  friend bool operator==(const restart_spec&, const restart_spec&) = default;
};

struct supervision_spec {
  restart_spec worker;
  // A shard without replicas does not come back alone: all go back to the last checkpoints, or
  // the run ends.
  restart_spec shard;
  restart_spec aggregator;
  restart_spec coordinator;
  // A process that shows no sign of life for so long is killed, and has died; 0: nobody looks.
  std::uint32_t heartbeat_timeout_ms = 2000;
  // A process that the coordinator has no connection to for so long, although it is not known
  // to have ended, counts as dead. In the first half of that time connections are given up, in
  // the second the process may come back.
  std::uint32_t unreachable_ms = 10'000;
};

// Whether a cluster is launched although it may take more memory than the machine has.
enum class memory_rule : std::uint8_t { refuse, ignore };

struct cluster_spec {
  std::string name;
  engine_kind engine = engine_kind::local;
  std::string engine_program;    // srun or mpirun under another name; empty: these
  std::vector<host_spec> hosts;  // empty: everything runs where the launcher does
  std::string coordinator_host;  // by name; empty: the first
  std::uint32_t shards = 1;
  // Of the process of each shard, by name (runtime/device/device_name.hpp), where it keeps and
  // steps its parameters; empty: in the host's memory.
  std::string device;
  std::uint64_t device_memory = 0;  // bytes of it that hold chunks; 0: all that they take
  // Where shards have rows that do not fit their memory, on each host; empty: in the run
  // folder.
  std::string rows_dir;
  std::uint32_t replicas = 0;  // of each shard, below group_size_max
  // The slots of processes that shards begin in, where they may move (shard_map); 0: each shard
  // has its own processes, and stays there.
  std::uint32_t slots = 0;
  std::vector<std::string> shard_hosts;  // by name; empty: all
  transport_kind transport = transport_kind::automatic;
  std::uint64_t chunk_bytes = default_chunk_bytes(1, false);
  std::string control_host = "127.0.0.1";
  std::uint16_t control_port = 0;  // 0: the system chooses
  std::uint32_t start_timeout_ms = 30'000;
  memory_rule memory_check = memory_rule::refuse;
  bool traces = true;  // processes note what they do
  // Shared libraries with functions (include/tidegate/plugin.h) that shards and aggregators
  // load, by path, and how long one may run.
  std::vector<std::string> plugins;
  std::uint32_t plugin_timeout_ms = 10'000;
  supervision_spec supervision;
  security_spec security;
  std::optional<monitor_spec> monitor;
  fault_spec faults;
  std::vector<job_spec> jobs;

  // Returns true if another process may take over a shard from the process that serves it.
  bool has_chains() const noexcept { return replicas > 0 || slots > 0; }
  // Returns the job of that name, or null; valid as long as this.
  const job_spec* find_job(std::string_view wanted) const noexcept {
    for (const auto& job : jobs)
      if (job.name == wanted) return &job;
    return nullptr;
  }
};

}  // namespace tidegate::policies
