// Opens the tables of a shard, some chunks in each turn. The memory of a large table, with its
// initial values or those of a checkpoint, takes seconds, and a shard that gets no turn for so
// long looks dead to its peers.
//
// The core hears of a table when it is whole. Until then whatever else the coordinator calls
// waits behind it, in order: to everybody else the call took that long on its way. One thread,
// the home's.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actors/seam/shell_home.hpp"
#include "actors/shard/shard_checkpoints.hpp"
#include "actors/shard/shard_memory.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class table_opener final : private continuation {
 public:
  using completion = std::function<void(const runtime::status&)>;

  table_opener(shell_home& home, shard_memory& memory, shard_checkpoints& checkpoints,
               policies::shard_core& core)
      : home_(home), memory_(memory), checkpoints_(checkpoints), core_(core) {}

  // Opens a table that is not open, of a job that is. `done` is called once, now or later, when
  // the core has the table or cannot have it. Errors: those of memory and of the storage.
  void open(const policies::open_table_call& call, const store_options& options,
            completion done);
  // Calls `call` now, or after all that waits for the table that is being opened.
  void in_order(std::function<void()> call);
  // Nothing that waits is called any more.
  void close();

 private:
  struct opening {
    policies::open_table_call call;
    std::vector<policies::owned_chunk> chunks;
    std::vector<shard_memory::chunk_progress> restored;  // of the first chunks
    std::size_t ready = 0;                               // chunks
    completion done;
  };

  void go_on() override;
  // Makes chunks for one turn.
  runtime::status make_some();
  runtime::status make(const policies::owned_chunk& chunk);
  void end(const runtime::status& result);
  // The core, and whoever has called, hear of it.
  void tell(const runtime::status& result);
  std::vector<policies::owned_chunk> next_slots(const policies::open_table_call& call) const;

  shell_home& home_;
  shard_memory& memory_;
  shard_checkpoints& checkpoints_;
  policies::shard_core& core_;
  std::unique_ptr<opening> opening_;
  std::deque<std::function<void()>> waiting_;
  bool is_calling_ = false;
};

}  // namespace tidegate::actors
