// Cluster files that several tests read.
#pragma once

#include <string>
#include <vector>

#include "launch/config/read_spec.hpp"

namespace tidegate::launch {

inline const std::string& fashion_yaml() {
  static const std::string text = R"(cluster:
  name: fashion-mnist
  shards: 2
  transport: tcp
  chunk_bytes: 64KiB
  control: {host: 127.0.0.1, port: 7070}
  start_timeout: 5s
jobs:
  mlp:
    workers: 4
    command: [fashion_mnist, --model, mlp]
    env: {OMP_NUM_THREADS: 1}
    consistency: {policy: ssp, staleness: 3}
    optimizer: {name: momentum, learning_rate: 0.05, momentum: 0.8}
    reduce: sum
    gradients: {not_finite: allow}
    seed: 7
    tables:
      fc1.weight: {shape: [256, 784], init: {uniform: 0.0875}}
      fc1.bias: {shape: [256], optimizer: {name: adam, beta1: 0.8}}
)";
  return text;
}

// A file of one job with these lines in it (each ended by a newline, indented by four).
inline std::string with_job(const std::string& lines) {
  return "cluster: {name: x}\njobs:\n  j:\n    command: run\n" + lines;
}

// Five workers on two of three hosts, shards on two others.
inline std::string hosts_yaml() {
  return R"(cluster:
  name: hosts
  hosts:
    a: {address: 10.0.0.1}
    b: {address: 10.0.0.2, prefix: [env, BLUE=1]}
    c: {ssh: me@10.0.0.3, port: 2222, key: "/k", program: /opt/tidegate, room: 2}
  shards: 3
  shard_hosts: [b, c]
jobs:
  j:
    workers: 5
    hosts: [a, b]
    command: run
)";
}

// The message of the refusal; "accepted" when there was none.
inline std::string refusal(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const auto spec = parse_cluster(yaml, "c.yaml", sets);
  return spec ? "accepted" : spec.error().message();
}

}  // namespace tidegate::launch
