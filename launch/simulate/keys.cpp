#include "launch/simulate/keys.hpp"

namespace tidegate::simulate {

namespace {

// clang-format off
constexpr launch::yaml_key keys[] = {
  {"scale", "map", "required", "a map", "a cluster to model; every combination of workers, shards, policies and aggregators is run"},
  {"scale.workers", "list", "required", "numbers from 1 to 100000", "workers of the job"},
  {"scale.shards", "list", "1", "numbers from 1 to 10000", "shard processes"},
  {"scale.policies", "list", "[bsp]", "bsp, async, {ssp: s} with s from 0 to 1000000", "see docs/consistency.md"},
  {"scale.aggregators", "list", "[none]", "none, per_host, {fan_in: k} with k a power of two from 2 to 1024", "who sums gradients before they reach the shards"},
  {"scale.clocks", "number", "100", "1 to 1000000; at most 10^9 with all workers", "exchanges of a worker, on average: the run ends when workers x clocks are done"},
  {"scale.seed", "number", "1", "0 to 18446744073709551615", "of the compute times"},
  {"scale.parameters", "bytes", "100MiB", "64 to 1048576MiB; plain or with KiB, MiB", "bytes of the parameters, and of a gradient"},
  {"scale.chunk_bytes", "bytes", "512KiB", "64 to 64MiB, a multiple of 64; plain or with KiB, MiB", "as in a cluster file; smaller where a shard would have no chunk"},
  {"scale.compute", "map", "{}", "a map", "what a worker does between two exchanges"},
  {"scale.compute.time", "duration", "100ms", "up to 3600s, with us, ms or s", "the mean of a worker that is not slow"},
  {"scale.compute.lognormal", "real", "-", "above 0 to 3; not with exponential", "varies from clock to clock: the deviation of its logarithm"},
  {"scale.compute.exponential", "real", "-", "above 0 to 1; not with lognormal", "varies from clock to clock: this share of it is drawn, with an exponential tail"},
  {"scale.compute.slow", "map", "-", "a map", "workers that are always slow"},
  {"scale.compute.slow.fraction", "real", "0", "0 to 1", "how many; at least one when above 0"},
  {"scale.compute.slow.factor", "real", "1", "1 to 1000", "how much longer they take"},
  {"scale.compute.pauses", "map", "-", "a map", "what stops a worker now and then"},
  {"scale.compute.pauses.chance", "real", "0", "0 to 1", "of a pause in a clock"},
  {"scale.compute.pauses.time", "duration", "0", "up to 3600s, with us, ms or s", "how long it lasts"},
  {"scale.one_host", "choice", "false", "true, false", "all processes share one host: pushes are read in place, and no link is used"},
  {"scale.hosts", "map", "{}", "a map", "the machines; workers and shards have hosts of their own"},
  {"scale.hosts.workers", "number", "1", "1 to 1024", "workers of a host"},
  {"scale.hosts.shards", "number", "1", "1 to 1024", "shards of a host"},
  {"scale.hosts.link", "rate", "without limit", "above 0, with Mbit/s, Gbit/s, MB/s or GB/s", "of a host, in each direction; what tidegate bench exchange --hosts reaches, rather than what is printed on it"},
  {"scale.hosts.latency", "duration", "0", "up to 3600s, with us, ms or s", "of a frame between hosts"},
  {"scale.hosts.ring_latency", "duration", "0", "up to 3600s, with us, ms or s", "of a word between processes of a host"},
  {"scale.hosts.memory", "rate", "without limit", "above 0, with Mbit/s, Gbit/s, MB/s or GB/s", "gradients that all processes of a host together can sum"},
  {"scale.shard", "map", "{}", "a map", "one process that sums: a shard, or an aggregator"},
  {"scale.shard.sum", "rate", "without limit", "above 0, with Mbit/s, Gbit/s, MB/s or GB/s", "gradients that it takes in; see Calibration"},
  {"scale.shard.step", "rate", "without limit", "above 0, with Mbit/s, Gbit/s, MB/s or GB/s", "parameters that the optimizer updates beside; see Calibration"},
  {"scale.shard.frame", "duration", "0", "up to 3600s, with us, ms or s", "what a frame costs it; one for each chunk and direction"},
};
// clang-format on

}  // namespace

launch::key_table scale_keys() noexcept {
  return keys;
}

}  // namespace tidegate::simulate
