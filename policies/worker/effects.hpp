// What the client side of a job asks its shell to send and to end. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/protocol/protocol.hpp"

namespace tidegate::policies {

using operation = std::uint64_t;  // named by the shell, neither 0 nor ~0

inline constexpr std::uint32_t all_tables = 0xffff'ffff;

// The shell carries out first `commit`, then `sends`, then `dones`, each in its order. No send
// leaves before the commit is whole: after it a process in this worker's place may resume at
// the clock of the commit. Nothing has to be durable on a disk before. When the core has
// failed, the shell lets go of the memory of all operations before the first done
// (client_shell::let_go).
struct worker_effects {
  enum class send_kind : std::uint8_t { push, skip, pull, call, doorbell, finished };
  // Sends a frame to the shard. Frames may be lost: what is not answered is sent again. The
  // gradient that a push or a doorbell speaks of is read until the push is acknowledged
  // (worker_core::is_acknowledged), which may be after its operation is done.
  struct send {
    send_kind kind = send_kind::push;
    std::uint32_t shard = 0;
    std::uint32_t table = 0;  // doorbell: all_tables for every attached one
    // Doorbell: the index of the first chunk among those of the part, of `count`; 0: all.
    std::uint32_t chunk = 0;
    std::uint32_t count = 0;
    std::uint64_t first = 0;  // element of the table (push, pull)
    std::uint64_t elements = 0;
    std::uint64_t clock = 0;    // of the push, or else of the pull
    std::uint64_t request = 0;  // of the pull, or call
    std::uint32_t half = 0;     // push, doorbell that pushes: half of the double buffer
    float rate = 1.0F;          // push, doorbell that pushes: see worker_core::push()
    bool is_final = false;      // pull, doorbell
    bool names_list = false;    // push, call of rows: the list of ids is named, not sent
    bool pushes = false;        // doorbell
    bool skips = false;         // doorbell
    bool pulls = false;         // doorbell, push: of the clock after the push
  };
  // Ends this operation; each ends exactly once. The parameters of a pull are in place then.
  struct done {
    operation op = 0;
    reply_code code = reply_code::ok;  // why the operation failed
  };
  // Commit the worker's state as that of the beginning of this clock.
  std::optional<std::uint64_t> commit;
  std::vector<send> sends;
  std::vector<done> dones;

  void clear() {
    commit.reset();
    sends.clear();
    dones.clear();
  }
};

}  // namespace tidegate::policies
