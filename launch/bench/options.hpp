// The command line of `tidegate bench`. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/bench/rows_bench.hpp"
#include "launch/text/command_page.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

inline constexpr std::uint32_t bench_workers_max = 64;
inline constexpr std::uint32_t bench_iterations_max = 100'000;  // of one size

enum class subject : std::uint8_t { help, exchange, latency, roofline, device, rows, plot };

struct bench_options {
  bench::subject subject = bench::subject::help;
  std::string topic;  // of help: a subject, or empty
  // exchange and latency, the former with repeats; roofline uses bytes, threads, inputs,
  // rounds; device uses device, bytes, inputs, chunks, repeats; rows uses rows, threads,
  // repeats, and over a cluster workers, shards, transport, hosts, warmup, pin
  std::uint32_t workers = 2;
  std::uint32_t shards = 1;
  std::uint32_t replicas = 0;  // of each shard
  std::vector<std::uint64_t> bytes;
  policies::optimizer_kind optimizer = policies::optimizer_kind::sgd;
  bool one_optimizer = false;  // roofline: only that one
  policies::transport_kind transport = policies::transport_kind::automatic;
  bool encrypt = false;                    // security.encrypt
  bool traces = true;                      // cluster.traces
  std::vector<policies::host_spec> hosts;  // workers on the first, shards on the last; or here
  std::uint32_t iterations = 0;            // 0: by size
  std::uint32_t warmup = 3;
  std::uint32_t tables = 1;
  std::uint32_t percent = 0;      // exchanger::open()
  std::uint64_t chunk_bytes = 0;  // 0: the cluster's default
  std::string pin = "auto";       // "auto", "none", "0,1"
  std::vector<std::uint32_t> threads;
  std::vector<std::uint32_t> inputs;
  std::uint32_t rounds = 5;
  std::string device;
  std::vector<std::uint64_t> chunks;
  std::uint32_t repeats = 0;
  rows_options rows;
  bool of_cluster = false;  // rows: over a cluster, as an option of it is given
  std::string file;         // plot: the series
  std::string json;         // files to write; "-": standard output in place of the table
  std::string svg;
};

// `args` after `bench`. Errors: invalid_argument; the message says what is allowed.
runtime::expected<bench_options> parse_bench(const std::vector<std::string>& args);

// What --help prints; an unknown topic gives the general text.
std::string bench_help(const std::string& topic);
// What it and its subjects are, for manuals and completion.
std::vector<launch::command_page> bench_pages();

}  // namespace tidegate::bench
