// Fuzz target: what comes over a connection of a link over streams, before and after it is
// proven.
//
// The first byte says whether the bytes after it are a stranger's, or of a proven peer, whose
// records may be sealed, and in what pieces they come. Nobody is let in who has not computed
// the proof; whatever a peer says, each frame that was given a place arrives or is lost.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/streams/incoming_stream.hpp"
#include "runtime/streams/stream_home.hpp"

namespace {

using namespace tidegate::runtime;

constexpr std::uint64_t payload_most = 1U << 16U;

struct counting_sink final : frame_sink {
  buffer place(const frame_header& header) override {
    if (header.payload_bytes > payload_most || header.clock % 3 == 0) return {};
    ++placed;
    return buffer::view(std::span(memory).first(header.payload_bytes));
  }
  void on_frame(const frame_header& header, buffer payload) override {
    TIDEGATE_ASSERT(payload.size() == header.payload_bytes, "whole");
    if (payload) ++arrived;
  }
  void on_frame_lost(const frame_header&) override {}
  void on_sent(send_token, const status&) override {}
  void on_bad_frame(const status&) override {}
  void on_peer_lost(peer_id, const status&) override {}

  std::vector<std::byte> memory = std::vector<std::byte>(payload_most);
  std::size_t placed = 0, arrived = 0;
};

class connection {
 public:
  explicit connection(bool sealed) {
    home_.own = {.link = 7, .sealed = sealed};
    home_.scratch.resize(16U << 10U);
    home_.delivery.set_sink(&sink_);
    std::array<int, 2> ends{-1, -1};
    TIDEGATE_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0,
                    "a pair");
    caller_ = unique_fd(ends[0]);
    std::optional<key_share> share;
    stream_draw drawn;
    if (sealed) {
      share = std::move(*key_share::draw());
      drawn.share = share->for_the_other();
    }
    stream_.emplace(home_, unique_fd(ends[1]), drawn, std::move(share));
    TIDEGATE_ASSERT(stream_->challenge(), "there is room");
  }

  void prove() {
    stream_caller_handshake caller(home_.own, home_.own.link, 1);
    std::array<std::byte, stream_challenge_bytes> challenge{};
    TIDEGATE_ASSERT(::recv(caller_.get(), challenge.data(), challenge.size(), 0) ==
                        static_cast<ssize_t>(challenge.size()),
                    "a challenge");
    caller.take(challenge);
    stream_draw drawn;
    if (home_.own.sealed) drawn.share = key_share::draw()->for_the_other();
    say(std::as_bytes(std::span(caller.respond(drawn))));
    TIDEGATE_ASSERT(stream_->prove() == stream_proof::proven, "it knows the key");
  }

  void say(std::span<const std::byte> bytes) {
    (void)::send(caller_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void meet_stranger() {
    for (int turn = 0; turn < 3; ++turn) {
      const auto proof = stream_->prove();
      TIDEGATE_ASSERT(proof != stream_proof::proven, "a stranger");
      if (proof != stream_proof::waiting) return;
    }
  }
  void receive() {
    if (!stream_->is_alive()) return;
    stream_->receive();
    stream_->take_notices([](std::uint32_t) {});
  }
  void end() {
    stream_->end();
    TIDEGATE_ASSERT(sink_.placed == sink_.arrived + home_.frames_lost.size(),
                    "each has come or is lost");
  }

 private:
  stream_home home_;
  counting_sink sink_;
  unique_fd caller_;
  std::optional<incoming_stream> stream_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto kind = data[0];
  auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  connection tested(kind % 4 == 3);
  if (kind % 4 == 0) {
    tested.say(rest);
    tested.meet_stranger();
    return 0;
  }
  tested.prove();
  const std::size_t piece = 1 + kind / 4 * 4;
  // Headers that decode, and then whatever comes.
  while (kind % 4 == 2 && rest.size() > 4) {
    frame_header header;
    header.kind = frame_kind::push;
    header.clock = static_cast<std::uint64_t>(rest[0]);
    header.payload_bytes = 4 * static_cast<std::uint64_t>(rest[1]) *
                           (1 + static_cast<std::uint64_t>(rest[2]) % 128);
    tested.say(encode(header));
    const auto payload =
        rest.subspan(3).first(std::min<std::size_t>(header.payload_bytes, rest.size() - 3));
    tested.say(payload);
    if (rest[0] > std::byte{99}) tested.receive();
    rest = rest.subspan(3 + payload.size());
  }
  while (!rest.empty()) {
    const auto next = rest.first(std::min(piece, rest.size()));
    tested.say(next);
    tested.receive();
    rest = rest.subspan(next.size());
  }
  tested.end();
  return 0;
}
