// The chunks that a process hands over to its replica, as they were when they were first sent:
// a frame that was lost is sent again as it was, and the link reads a copy until it has sent
// it, though the chunk arrived or the replica was replaced meanwhile. One thread, the home's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "policies/shard/ingress_shell.hpp"

namespace tidegate::actors {

class seed_copies {
 public:
  struct outgoing {
    policies::send_name name = 0;
    std::span<const float> values;  // stay until sent(name)
  };

  // Returns true if there is a copy of the chunk to send again.
  bool has(std::uint32_t slot) const { return copies_.contains(slot); }
  // The copy may yet be on its way into its memory, as the frame is that goes after it.
  void keep(std::uint32_t slot, std::shared_ptr<const std::vector<float>> copy) {
    copies_[slot] = std::move(copy);
  }
  // The copy, which is there, is about to be sent under this name.
  outgoing send(std::uint32_t slot);
  // The frame has been sent, or never will be. Returns false if its name is not of a seed.
  bool sent(policies::send_name name);
  // The chunk will not be sent again; or no chunk will.
  void forget(std::uint32_t slot) { copies_.erase(slot); }
  void forget_all() { copies_.clear(); }

 private:
  using shared_copy = std::shared_ptr<const std::vector<float>>;

  std::map<std::uint32_t, shared_copy> copies_;  // by slot
  std::map<policies::send_name, shared_copy> sending_;
  std::uint64_t last_ = 0;
};

}  // namespace tidegate::actors
