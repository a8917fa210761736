// The sending side of a simulated process, as actors/frame_sender: the shell of
// policies::send_core. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/send_core.hpp"
#include "tests/sim/network.hpp"

namespace tidegate::sim {

struct world;

class sender final : private policies::send_shell {
 public:
  using name = policies::send_core::name;

  sender(world& where, process_id of);

  // Without payload: at once.
  void send(process_id to, const runtime::frame_header& header);
  // With payload, which stays as it is until on_sent() has returned `done`.
  void send(process_id to, const runtime::frame_header& header, memory_view payload,
            std::uint64_t priority, name done = 0);
  // To be called for every token that the network tells: the name of that frame.
  name on_sent(std::uint64_t token);
  void drop(process_id to, std::vector<name>& names) { core_.drop(to, names); }
  void drop() { core_.drop(); }
  std::size_t waiting() const noexcept { return core_.waiting(); }

 private:
  void post(std::uint32_t to, std::span<const policies::send_queue::frame> message) override;
  void go_on_soon() override;

  world& world_;
  process_id of_;
  policies::send_core core_;
  std::vector<outgoing> frames_;  // by handle
};

}  // namespace tidegate::sim
