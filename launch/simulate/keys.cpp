#include "launch/simulate/keys.hpp"

namespace tidegate::simulate {

namespace {

// clang-format off
constexpr launch::yaml_key keys[] = {
  {.path="scale", .type="map", .preset="required", .allowed="a map", .doc="a cluster to model; every combination of workers, shards, policies and aggregators is run"},
  {.path="scale.workers", .type="list", .preset="required", .allowed="numbers from 1 to 100000", .doc="workers of the job"},
  {.path="scale.shards", .type="list", .preset="1", .allowed="numbers from 1 to 10000", .doc="shard processes"},
  {.path="scale.policies", .type="list", .preset="[bsp]", .allowed="bsp, async, {ssp: s} with s from 0 to 1000000", .doc="see docs/consistency.md"},
  {.path="scale.aggregators", .type="list", .preset="[none]", .allowed="none, per_host, {fan_in: k} with k a power of two from 2 to 1024", .doc="who sums gradients before they reach the shards"},
  {.path="scale.clocks", .type="number", .preset="100", .allowed="1 to 1000000; at most 10^9 with all workers", .doc="exchanges of a worker, on average: the run ends when workers x clocks are done"},
  {.path="scale.seed", .type="number", .preset="1", .allowed="0 to 18446744073709551615", .doc="of the compute times"},
  {.path="scale.parameters", .type="bytes", .preset="100MiB", .allowed="64 to 1048576MiB; plain or with KiB, MiB", .doc="bytes of the parameters, and of a gradient"},
  {.path="scale.chunk_bytes", .type="bytes", .preset="512KiB", .allowed="64 to 64MiB, a multiple of 64; plain or with KiB, MiB", .doc="as in a cluster file; smaller where a shard would have no chunk"},
  {.path="scale.compute", .type="map", .preset="{}", .allowed="a map", .doc="what a worker does between two exchanges"},
  {.path="scale.compute.time", .type="duration", .preset="100ms", .allowed="up to 3600s, with us, ms or s", .doc="the mean of a worker that is not slow"},
  {.path="scale.compute.lognormal", .type="real", .preset="-", .allowed="above 0 to 3; not with exponential", .doc="varies from clock to clock: the deviation of its logarithm"},
  {.path="scale.compute.exponential", .type="real", .preset="-", .allowed="above 0 to 1; not with lognormal", .doc="varies from clock to clock: this share of it is drawn, with an exponential tail"},
  {.path="scale.compute.slow", .type="map", .preset="-", .allowed="a map", .doc="workers that are always slow"},
  {.path="scale.compute.slow.fraction", .type="real", .preset="0", .allowed="0 to 1", .doc="how many; at least one when above 0"},
  {.path="scale.compute.slow.factor", .type="real", .preset="1", .allowed="1 to 1000", .doc="how much longer they take"},
  {.path="scale.compute.pauses", .type="map", .preset="-", .allowed="a map", .doc="what stops a worker now and then"},
  {.path="scale.compute.pauses.chance", .type="real", .preset="0", .allowed="0 to 1", .doc="of a pause in a clock"},
  {.path="scale.compute.pauses.time", .type="duration", .preset="0", .allowed="up to 3600s, with us, ms or s", .doc="how long it lasts"},
  {.path="scale.one_host", .type="choice", .preset="false", .allowed="true, false", .doc="all processes share one host: pushes are read in place, and no link is used"},
  {.path="scale.hosts", .type="map", .preset="{}", .allowed="a map", .doc="the machines; workers and shards have hosts of their own"},
  {.path="scale.hosts.workers", .type="number", .preset="1", .allowed="1 to 1024", .doc="workers of a host"},
  {.path="scale.hosts.shards", .type="number", .preset="1", .allowed="1 to 1024", .doc="shards of a host"},
  {.path="scale.hosts.link", .type="rate", .preset="without limit", .allowed="above 0, with Mbit/s, Gbit/s, MB/s or GB/s", .doc="of a host, in each direction; what tidegate bench exchange --hosts reaches, rather than what is printed on it"},
  {.path="scale.hosts.latency", .type="duration", .preset="0", .allowed="up to 3600s, with us, ms or s", .doc="of a frame between hosts"},
  {.path="scale.hosts.ring_latency", .type="duration", .preset="0", .allowed="up to 3600s, with us, ms or s", .doc="of a word between processes of a host"},
  {.path="scale.hosts.memory", .type="rate", .preset="without limit", .allowed="above 0, with Mbit/s, Gbit/s, MB/s or GB/s", .doc="gradients that all processes of a host together can sum"},
  {.path="scale.shard", .type="map", .preset="{}", .allowed="a map", .doc="one process that sums: a shard, or an aggregator"},
  {.path="scale.shard.sum", .type="rate", .preset="without limit", .allowed="above 0, with Mbit/s, Gbit/s, MB/s or GB/s", .doc="gradients that it takes in; see Calibration"},
  {.path="scale.shard.step", .type="rate", .preset="without limit", .allowed="above 0, with Mbit/s, Gbit/s, MB/s or GB/s", .doc="parameters that the optimizer updates beside; see Calibration"},
  {.path="scale.shard.frame", .type="duration", .preset="0", .allowed="up to 3600s, with us, ms or s", .doc="what a frame costs it; one for each chunk and direction"},
};
// clang-format on

}  // namespace

launch::key_table scale_keys() noexcept {
  return keys;
}

}  // namespace tidegate::simulate
