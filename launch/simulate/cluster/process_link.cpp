#include "launch/simulate/cluster/process_link.hpp"

#include <cstring>
#include <vector>

#include "launch/simulate/cluster/frame_process.hpp"

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

// After the turn in which a link of one host gives its last ring to a process up, it reads none
// of that process's rings either, and says so. A ring that was lost before changes nothing.
void process_link::disconnect(runtime::peer_id peer) {
  auto& net = world_.net;
  const bool was_open = net.is_open(peer);
  net.disconnect(peer);
  const auto* const other = world_.find(net.peer_of(peer));
  if (!was_open || other == nullptr || !owner_.shares_memory_with(other->address())) return;
  world_.time.after(0, [&net, from = other->id(), by = owner_.id()] {
    if (net.lives(by) && !net.linked_to(by).contains(from)) net.refuse(from, by);
  });
}

void process_link::post(runtime::peer_id peer, const runtime::frame_header& header,
                        std::span<const std::byte> payload, runtime::send_token token) {
  const runtime::outgoing frame{.header = header, .payload = payload, .token = token};
  maybe_stranger(peer, frame);
  if (payload.empty()) owner_.says(header);
  post_later(peer, {&frame, 1});
}

void process_link::post_bundle(runtime::peer_id peer,
                               std::span<const runtime::outgoing> frames) {
  for (const auto& frame : frames) maybe_stranger(peer, frame);
  post_later(peer, frames);
}

// When the work is done that comes before it in this turn.
void process_link::post_later(runtime::peer_id peer,
                              std::span<const runtime::outgoing> frames) {
  if (owner_.spent() == 0) return world_.net.post(peer, frames);
  world_.time.after(owner_.spent(), [&where = world_, me = owner_.id(), peer,
                                     late = std::vector(frames.begin(), frames.end())] {
    if (where.find(me) != nullptr) where.net.post(peer, late);
  });
}

// Now and then an earlier epoch's frame of a worker with other bytes comes first.
void process_link::maybe_stranger(runtime::peer_id peer, const runtime::outgoing& frame) {
  if (owner_.kind() != role::worker || world_.plan.strangers == 0) return;
  if (!world_.chance.chance(world_.plan.strangers)) return;
  const std::vector<float> other(frame.payload.size() / sizeof(float), 1e6F);
  auto stale = frame.header;
  --stale.epoch;
  world_.net.post_copy(
      peer, {.header = stale, .payload = std::as_bytes(std::span(other)), .token = 0});
}

}  // namespace tidegate::sim
