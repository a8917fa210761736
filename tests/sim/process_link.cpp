#include "tests/sim/process_link.hpp"

#include <cstring>

#include "tests/sim/frame_process.hpp"

namespace tidegate::sim {

std::string process_link::address() const {
  return owner_.address();
}

bool process_link::loses_frames() const noexcept {
  return world_.loses_frames();
}

runtime::expected<runtime::peer_id> process_link::connect(std::string_view address,
                                                          runtime::reach) {
  return world_.net.connect(owner_.id(), process::id_of(std::string(address)));
}

// A link of one host that has no ring left to a process reads none of its rings either, and
// says so.
void process_link::disconnect(runtime::peer_id peer) {
  auto& net = world_.net;
  net.disconnect(peer);
  const auto* const other = world_.find(net.peer_of(peer));
  if (other != nullptr && owner_.shares_memory_with(other->address()) &&
      !net.linked_to(owner_.id()).contains(other->id()))
    net.refuse(other->id(), owner_.id());
}

void process_link::post(runtime::peer_id peer, const runtime::frame_header& header,
                        std::span<const std::byte> payload, runtime::send_token token) {
  const runtime::outgoing frame{header, payload, token};
  maybe_stranger(peer, frame);
  if (payload.empty()) owner_.says(header);
  world_.net.post(peer, {&frame, 1});
}

void process_link::post_bundle(runtime::peer_id peer,
                               std::span<const runtime::outgoing> frames) {
  for (const auto& frame : frames) maybe_stranger(peer, frame);
  world_.net.post(peer, frames);
}

// Now and then an earlier epoch's frame of a worker with other bytes comes first.
void process_link::maybe_stranger(runtime::peer_id peer, const runtime::outgoing& frame) {
  if (owner_.what() != role::worker || world_.plan.strangers == 0) return;
  if (!world_.chance.chance(world_.plan.strangers)) return;
  const std::vector<float> other(frame.payload.size() / sizeof(float), 1e6F);
  auto stale = frame.header;
  --stale.epoch;
  world_.net.post_copy(peer, {stale, std::as_bytes(std::span(other)), 0});
}

}  // namespace tidegate::sim
