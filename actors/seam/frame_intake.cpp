#include "actors/seam/frame_intake.hpp"

#include <utility>

#include "actors/seam/log_lines.hpp"
#include "policies/protocol/frame_tags.hpp"

namespace tidegate::actors {

runtime::buffer frame_intake::place(const runtime::frame_header& header) {
  auto room = shell_.place(header);
  // What a reply acknowledges counts also when nobody wants its payload any more.
  if (!room)
    if (const auto ack = policies::acknowledgement_in(header)) on_frame(*ack, {});
  return room;
}

void frame_intake::on_frame(const runtime::frame_header& header, runtime::buffer payload) {
  // A link counts what it copied right before it hands over the frame.
  const auto copied = home_.link().counters().payload_bytes_copied;
  deliver(header, std::move(payload), copied - std::exchange(copied_, copied));
}

void frame_intake::on_frame_lost(const runtime::frame_header& header) {
  if (lost_.empty()) home_.after_progress(*this);
  lost_.push_back(header);
}

void frame_intake::on_bad_frame(const runtime::status& why) {
  if (is_worth_a_line(++bad_frames_))
    home_.log(severity::warning, "dropped what is no frame (" + std::to_string(bad_frames_) +
                                     " so far): " + why.message());
}

void frame_intake::on_peer_lost(runtime::peer_id peer, const runtime::status& why) {
  deliver(
      {.peer = peer, .why = why.message(), .ended = why.code() == runtime::errc::not_found});
}

void frame_intake::go_on() {
  for (const auto& header : std::exchange(lost_, {})) shell_.on_frame_lost(header);
}

}  // namespace tidegate::actors
