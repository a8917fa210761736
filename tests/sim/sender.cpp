#include "tests/sim/sender.hpp"

#include <utility>

#include "tests/sim/process.hpp"

namespace tidegate::sim {

sender::sender(world& where, process_id of)
    : world_(where), of_(of), core_(*this, where.plan.set.sends) {}

void sender::send(process_id to, const runtime::frame_header& header) {
  world_.net.post(of_, to, header, {}, 0);
}

void sender::send(process_id to, const runtime::frame_header& header, memory_view payload,
                  std::uint64_t priority, name done) {
  const auto handle = core_.take_handle();
  if (handle >= frames_.size()) frames_.resize(handle + std::size_t{1});
  frames_[handle] = {header, std::move(payload), handle + std::uint64_t{1}};
  core_.add({to, handle, priority, header.payload_bytes}, done);
}

sender::name sender::on_sent(std::uint64_t token) {
  return token == 0 ? 0 : core_.sent(static_cast<std::uint32_t>(token - 1));
}

void sender::post(std::uint32_t to, std::span<const policies::send_queue::frame> message) {
  std::vector<outgoing> frames;
  for (const auto& one : message) frames.push_back(frames_[one.handle]);
  world_.net.post(of_, to, std::move(frames));
}

// A process reads its mail before it looks at the network again.
void sender::go_on_soon() {
  world_.later(of_, world_.plan.set.turn, [this] { core_.go_on(); });
}

}  // namespace tidegate::sim
