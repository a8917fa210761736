// The replies with parameters that are on their way to members. Each has a name by which the
// shell says that it has left its version buffer; until then the shard core keeps the version
// buffer.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/shard/effects.hpp"
#include "policies/shard/ingress_shell.hpp"

namespace tidegate::policies::sharding {

struct ingress_state;

class reply_ledger {
 public:
  explicit reply_ledger(ingress_state& state) : state_(state) {}

  // Returns a name for a reply that is going to be sent.
  send_name take_name(const shard_effects::reply& reply);
  // Ends the reply of this name, which has left its version buffer or never will, and frees the
  // name. `name`: 0 for a frame of the owner's, which changes nothing.
  void sent(send_name name);
  // Ends a reply that has no name, as it cannot be sent.
  void not_sent(const shard_effects::reply& reply);
  // Ends all replies to a process of this rank that is gone, before the network may notice:
  // their version buffers may be written again, as nobody reads those replies, and the next
  // process of the rank is answered anew. Their names are still freed by sent().
  void give_up(std::uint64_t job, std::uint32_t rank);
  // Answers pulls that have waited for the end of a reply.
  void answer_due();

 private:
  struct named_reply {
    std::uint64_t job = 0;
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint32_t version_buffer = 0;
    bool counts = false;  // the core waits for it
  };
  struct due_answer {
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
  };

  void ended(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer);

  ingress_state& state_;
  std::vector<named_reply> replies_;  // by name - 1
  std::vector<send_name> free_;
  std::vector<due_answer> due_;
};

}  // namespace tidegate::policies::sharding
