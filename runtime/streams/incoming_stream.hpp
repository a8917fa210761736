// A connection that a peer has made, over which frames come and nothing goes once it is proven:
// payload is read from the socket into the place that the sink gives, without a copy but for
// what was read ahead, at most a small frame's worth.
//
// Owns its socket and the place of the frame that is arriving. One reactor thread. Hot path;
// once warm, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/uio.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/streams/record_cipher.hpp"
#include "runtime/streams/stream_home.hpp"

namespace tidegate::runtime {

class incoming_stream {
 public:
  // An accepted connection. `share`: for it alone, if records are sealed.
  incoming_stream(stream_home& home, unique_fd socket, const stream_draw& drawn,
                  std::optional<key_share> share);
  incoming_stream(const incoming_stream&) = delete;
  incoming_stream& operator=(const incoming_stream&) = delete;

  // Sends the challenge. Returns false if the connection is broken already.
  bool challenge();
  // Reads what of the handshake has come. Returns `waiting` while there is more to come; after
  // `proven` receive() goes on, after anything else the connection is to be closed. Nothing:
  // the other end has closed it.
  std::optional<stream_proof> prove();
  // Reads what has come, up to a share of a turn. Returns how many things happened. The stream
  // has ended afterwards if is_alive() says so.
  unsigned receive();
  // Closes the connection. A frame that has a place is lost.
  void end();

  bool is_alive() const noexcept { return socket_.get() >= 0; }
  // When it was proven, by stream_home::events_so_far.
  std::uint64_t admitted_at() const noexcept { return admitted_at_; }
  int socket() const noexcept { return socket_.get(); }
  // Once it is proven: whose it is, and which of theirs.
  std::uint64_t link() const noexcept { return handshake_.caller_link(); }
  std::uint32_t connection() const noexcept { return handshake_.caller_connection(); }
  // Calls given_up(connection) for each notice that has come since the last call.
  template <class GivenUp>
  void take_notices(const GivenUp& given_up) {
    for (std::size_t i = 0; i < notices_.size(); ++i) given_up(notices_[i]);
    notices_.clear();
  }
  bool has_notices() const noexcept { return !notices_.empty(); }

 private:
  // In one read, and of a sealed payload that is arriving.
  static constexpr std::size_t records_most = 16;
  struct piece {
    std::byte* at;  // null: nobody wants these bytes
    std::size_t bytes;
    bool is_payload;
  };

  std::size_t header_wire_bytes() const noexcept;
  std::size_t payload_wire_bytes() const noexcept;
  std::size_t record_end(std::size_t wire_position) const noexcept;
  piece piece_at(std::size_t wire_position) noexcept;
  std::size_t collect(std::span<iovec> into, std::size_t& bytes);
  void take_ahead(std::span<const std::byte> bytes);
  std::size_t take_header(std::span<const std::byte> bytes);
  std::size_t take_payload(std::span<const std::byte> bytes);
  void begin_frame();
  void advance(std::size_t wire_bytes);
  bool open_record(std::size_t record);
  void finish_frame();
  void break_off(const status& why);

  stream_home& home_;
  unique_fd socket_;
  stream_listener_handshake handshake_;
  std::optional<key_share> share_;
  std::optional<record_cipher> cipher_;
  std::array<std::byte, frame_header_bytes + record_tag_bytes> header_wire_{};
  std::size_t header_have_ = 0;
  bool in_payload_ = false;
  frame_header header_;
  buffer place_;                  // empty in a payload: it was refused
  std::size_t payload_have_ = 0;  // of its bytes on the wire
  std::array<record_tag, records_most> tags_{};
  std::size_t ahead_;  // bytes to read beyond what has a place
  std::vector<std::uint32_t> notices_;
  std::uint64_t admitted_at_ = 0;
};

}  // namespace tidegate::runtime
