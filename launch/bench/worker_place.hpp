// Where the processes of a measured cluster run: shards, then workers, round robin over cores.
// What a worker of it does about that. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/bench/arena.hpp"
#include "launch/bench/server_processes.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

struct worker_place {
  std::uint32_t shards = 1;
  std::vector<int> cpus;  // empty: nothing is pinned

  friend bool operator==(const worker_place&, const worker_place&) = default;
};

// Cores as a word of a command line, and back. Errors: invalid_argument.
std::string cpu_words(const std::vector<int>& cpus);
runtime::expected<std::vector<int>> parse_cpu_words(const std::string& words);

// Pins this thread, before the session starts those that inherit its core. Errors: as
// pin_this_thread.
runtime::status pin_worker(const worker_place& place);

// Finds the processes that are no workers, and pins the shards: rank 0 speaks for them, as they
// know nothing of a benchmark. Errors: those of server_processes.
runtime::expected<server_processes> take_servers(const worker_place& place);

// Opens the arena, joins the job as a worker at its place, and does `work`. What fails is
// written into the arena and fails the job. Errors: those of arena::open, of session::connect
// and of `work`.
runtime::status run_member(
    const std::string& arena_path, const worker_place& place,
    const std::function<runtime::status(arena&, tidegate::session&)>& work);

}  // namespace tidegate::bench
