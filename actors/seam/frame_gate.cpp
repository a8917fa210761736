#include "actors/seam/frame_gate.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::frame_header;

namespace {

// There are time-outs for its answer, which know nothing of a device.
bool is_about_connection(const frame_header& header) {
  return header.kind == runtime::frame_kind::resend ||
         header.kind == runtime::frame_kind::resent;
}

}  // namespace

void frame_gate::send(peer_id peer, const frame_header& header) {
  if (is_open() || is_about_connection(header)) return sender_.send(peer, header);
  hold({.kind = held_kind::plain, .peer = peer, .header = header});
}

void frame_gate::send(peer_id peer, const frame_header& header,
                      std::span<const std::byte> payload, std::uint64_t priority,
                      send_token done, std::shared_ptr<late_answer> late) {
  if (is_open()) {
    if (late) late->finish(functions_);
    return sender_.send(peer, header, payload, priority, done);
  }
  hold({.kind = held_kind::payload,
        .peer = peer,
        .header = header,
        .payload = payload,
        .priority = priority,
        .done = done,
        .late = std::move(late)});
}

void frame_gate::send_parameters(peer_id peer, const frame_header& header, std::uint32_t slot,
                                 std::uint32_t version_buffer, std::uint64_t priority,
                                 send_token done) {
  if (is_open())
    return sender_.send(peer, header, memory_.payload_of(header, slot, version_buffer),
                        priority, done);
  hold({.kind = held_kind::parameters,
        .peer = peer,
        .header = header,
        .slot = slot,
        .version_buffer = version_buffer,
        .priority = priority,
        .done = done});
}

void frame_gate::send_results(peer_id peer, const frame_header& header, std::uint32_t slot,
                              std::uint32_t version_buffer, std::span<const std::byte> call,
                              std::uint64_t priority, send_token done) {
  std::copy(call.begin(), call.end(), calls_[done].begin());
  const held_frame frame{.kind = held_kind::results,
                         .peer = peer,
                         .header = header,
                         .slot = slot,
                         .version_buffer = version_buffer,
                         .priority = priority,
                         .done = done};
  is_open() ? go(frame) : hold(frame);
}

void frame_gate::go_with_results(const held_frame& frame) {
  auto& wire = calls_.at(frame.done);
  const auto parameters = memory_.payload_of(frame.header, frame.slot, frame.version_buffer);
  const runtime::function_chunk chunk{
      .parameters = {reinterpret_cast<const float*>(parameters.data()),
                     parameters.size() / sizeof(float)},
      .first = memory_.first_of(frame.slot)};
  runtime::function_results results{.outcome = runtime::errc::corrupt};
  if (const auto call = runtime::decode_call(wire))
    results = functions_.run(call->view(), chunk);
  encode(results, wire);
  sender_.send(frame.peer, frame.header, wire, frame.priority, frame.done);
}

bool frame_gate::is_open() const {
  return (memory_.work().is_idle() && held_.empty()) ||
         runtime::is_planted(runtime::planted_bug::frame_ahead_of_its_work);
}

void frame_gate::hold(held_frame frame) {
  frame.after = memory_.work().begun();
  held_.push(std::move(frame));
}

void frame_gate::go(const held_frame& frame) {
  switch (frame.kind) {
    case held_kind::plain:
      return sender_.send(frame.peer, frame.header);
    case held_kind::payload:
      if (frame.late) frame.late->finish(functions_);
      return sender_.send(frame.peer, frame.header, frame.payload, frame.priority, frame.done);
    case held_kind::parameters:
      return sender_.send(frame.peer, frame.header,
                          memory_.payload_of(frame.header, frame.slot, frame.version_buffer),
                          frame.priority, frame.done);
    case held_kind::results:
      return go_with_results(frame);
  }
}

void frame_gate::drop(peer_id peer, std::vector<send_token>& tokens) {
  for (auto& frame : held_.items()) {
    if (frame.is_dropped || frame.peer != peer) continue;
    frame.is_dropped = true;
    frame.late.reset();
    if (frame.done != 0) tokens.push_back(frame.done);
  }
  sender_.drop(peer, tokens);
  for (const auto token : tokens) calls_.erase(token);
}

void frame_gate::let_go() {
  const auto ended = memory_.work().ended();
  while (!held_.empty() && held_.front().after <= ended) {
    const auto frame = std::move(held_.front());  // a call may hand another one over
    held_.pop();
    if (!frame.is_dropped) go(frame);
  }
}

}  // namespace tidegate::actors
