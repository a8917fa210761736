// Sends the frames of a shell whose memory works by itself (work_progress.hpp). A frame goes
// when all work that had begun when it was handed over has ended, so that it says nothing that
// is not so yet; frames keep their order. While nothing is under way they go at once, and the
// gate costs a comparison. To a shell's core a frame that waits here is one that is on its way.
//
// Of its home's thread. Once warm, nothing allocates but for results of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "actors/seam/frame_sender.hpp"
#include "actors/seam/ingress_memory.hpp"
#include "actors/seam/late_answer.hpp"
#include "runtime/functions/function_library.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::actors {

class frame_gate {
 public:
  using peer_id = runtime::peer_id;
  using send_token = runtime::send_token;

  // All outlive it.
  frame_gate(frame_sender& sender, ingress_memory& memory,
             const runtime::function_library& functions)
      : sender_(sender), memory_(memory), functions_(functions) {}

  // As frame_sender::send(). What tells of a connection alone goes at once. `late`, where it is
  // given, writes the payload when the frame goes.
  void send(peer_id peer, const runtime::frame_header& header);
  void send(peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, std::uint64_t priority, send_token done = 0,
            std::shared_ptr<late_answer> late = nullptr);
  // Sends the parameters of a slot as they are in a version buffer when the frame goes.
  void send_parameters(peer_id peer, const runtime::frame_header& header, std::uint32_t slot,
                       std::uint32_t version_buffer, std::uint64_t priority, send_token done);
  // Sends what the function that `call` names makes of them then. `done` is not 0.
  void send_results(peer_id peer, const runtime::frame_header& header, std::uint32_t slot,
                    std::uint32_t version_buffer, std::span<const std::byte> call,
                    std::uint64_t priority, send_token done);
  // The frame of this `done` has left, or never will.
  void sent(send_token done) { calls_.erase(done); }
  // What waits for this peer, here or in the sender, is not sent any more; appends the `done`
  // of each such frame.
  void drop(peer_id peer, std::vector<send_token>& tokens);
  // Nothing that waits here is sent any more.
  void drop() { held_.clear(); }
  // Sends what may go by now. To be called when work has ended.
  void let_go();
  // Frames that wait here or in the sender.
  std::size_t waiting() const noexcept { return held_.size() + sender_.waiting(); }

 private:
  enum class held_kind : std::uint8_t { plain, payload, parameters, results };
  struct held_frame {
    std::uint64_t after = 0;  // a piece of work
    held_kind kind = held_kind::plain;
    bool is_dropped = false;
    peer_id peer = 0;
    runtime::frame_header header;
    std::span<const std::byte> payload;
    std::uint32_t slot = 0;
    std::uint32_t version_buffer = 0;
    std::uint64_t priority = 0;
    send_token done = 0;
    std::shared_ptr<late_answer> late = nullptr;
  };

  bool is_open() const;
  void hold(held_frame frame);
  void go(const held_frame& frame);
  void go_with_results(const held_frame& frame);

  frame_sender& sender_;
  ingress_memory& memory_;
  const runtime::function_library& functions_;
  runtime::fifo<held_frame> held_;
  std::map<send_token, runtime::call_wire> calls_;  // or their results, until they have left
};

}  // namespace tidegate::actors
