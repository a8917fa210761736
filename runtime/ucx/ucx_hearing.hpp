// The messages by which a link learns whether a peer still hears it, of this folder alone.
//
// UCX pairs the endpoints of two processes. When one of a pair is closed, the other still
// carries what fits into one message, and whatever names its pair (payloads that are announced
// or cut into pieces) is dropped at the other side without a word. So a link that has sent
// payloads over a connection asks the peer twice: in a message that names the pair, and in one
// that does not. Answers to the latter alone mean that the connection is deaf.
//
// And a link that has given a connection up says so over the next one to the same worker
// (ucx_announcement.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tidegate::runtime {

// A number with which no frame and no bundle begins.
inline constexpr std::uint32_t hearing_magic = 0x72616568;

enum class hearing_kind : std::uint32_t {
  named_question,
  question,
  named_answer,
  answer,
  given_up
};

// As it goes over the wire, little endian.
struct hearing_message {
  std::uint32_t magic = hearing_magic;
  hearing_kind kind = hearing_kind::question;
  std::uint64_t sender = 0;  // UCX's number of the sender's worker
  // peer_id of the connection in question, at the side that asks or has given it up.
  std::uint32_t connection = 0;
  std::uint32_t round = 0;
};

// Returns nothing if these bytes are no such message.
std::optional<hearing_message> decode_hearing(std::span<const std::byte> wire);

// What is known of how one connection is heard.
class hearing {
 public:
  struct questions {
    std::uint32_t round = 0;
    bool first = false;  // of this round: the one that names the pair is to be asked, too
  };

  // A payload goes over the connection. Hot path.
  void use() { used_ = true; }
  // It is time to ask. Returns nothing if everything that was sent has been heard.
  std::optional<questions> ask();
  // The peer has heard the question that names the pair.
  void named_answer(std::uint32_t round);
  // The peer has heard the other question. Returns true if the connection is deaf.
  bool answer(std::uint32_t round);

 private:
  bool used_ = false;
  bool asks_ = false;
  std::uint32_t round_ = 0;
  std::uint32_t answers_ = 0;
};

}  // namespace tidegate::runtime
