// A connection to a peer, over which this link sends frames and takes nothing: it is made,
// proven (stream_handshake.hpp), and then carries the queue of what was posted.
//
// Owns its socket and the queue. The payload stays its owner's until its token is told. One
// reactor thread. Hot path: post() and flush() allocate nothing once the queue was as long as
// it gets, and copy no payload but where records are sealed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.hpp"
#include "runtime/streams/record_cipher.hpp"
#include "runtime/streams/stream_home.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::runtime {

class outgoing_stream {
 public:
  // To this link, at one of its addresses.
  outgoing_stream(stream_home& home, peer_id id, std::uint64_t link, std::string host,
                  std::uint16_t port);
  outgoing_stream(const outgoing_stream&) = delete;
  outgoing_stream& operator=(const outgoing_stream&) = delete;

  // Begins to connect. A failure is a loss.
  void connect();
  // Queues a frame. `last`: of its message, whose tokens are told together.
  void post(const frame_header& header, std::span<const std::byte> payload, send_token token,
            bool last = true);
  // Queues the notice that `connection` of this link to the same peer has been given up.
  void post_notice(peer_id connection);
  // Sends what the system takes. Returns how many things happened.
  unsigned flush();
  unsigned on_event(std::uint32_t happened);
  // The connection is given up: it ends now, and is not reported as lost.
  void give_up();
  // It is lost if it is still not proven, or if nothing of what was sent is acknowledged.
  void expire(std::int64_t now);

  std::uint64_t link() const noexcept { return link_; }
  // Returns when it was lost, by stream_home::events_so_far; nothing while it lives.
  std::optional<std::uint64_t> lost_at() const noexcept { return lost_at_; }
  bool is_alive() const noexcept { return phase_ != phase::ended; }
  bool was_given_up() const noexcept { return given_up_; }
  bool is_empty() const noexcept { return queue_.empty() && sealed_sent_ == sealed_end_; }
  // Returns true if flush() has something to do that no event will tell.
  bool can_flush() const noexcept { return phase_ == phase::open && !blocked_ && !is_empty(); }
  // Returns when expire() has something to do; nothing: not at all.
  std::optional<std::int64_t> deadline() const noexcept;

 private:
  enum class phase : std::uint8_t { connecting, proving, open, ended };
  struct pending {
    frame_header_wire wire;
    std::span<const std::byte> payload;
    send_token token;
    bool last;
  };

  unsigned on_connected();
  unsigned prove();
  status respond();
  void open();
  void send_queue();
  void send_sealed();
  void seal_some();
  bool seal_front();
  void consume(std::size_t bytes);
  void finish_front();
  void block();
  void watch_silence();
  void lose(const std::string& why);
  void end();
  bool wait_for_room(ssize_t sent);

  stream_home& home_;
  peer_id id_;
  std::uint64_t link_;
  std::string host_;
  std::uint16_t port_;
  unique_fd socket_;
  phase phase_ = phase::connecting;
  bool given_up_ = false;
  std::optional<std::uint64_t> lost_at_;
  bool blocked_ = false;  // the system takes no more: an event says when it does again
  std::int64_t deadline_ = 0;
  stream_caller_handshake handshake_;
  bool is_watched_ = false;  // something was sent since expire() saw all acknowledged
  std::int64_t silent_since_ = 0;
  fifo<pending> queue_;
  std::size_t front_sent_ = 0;    // bytes of the first in the queue, its header included
  std::vector<send_token> held_;  // of the message that is being sent
  std::optional<record_cipher> cipher_;
  std::vector<std::byte> sealed_;  // up to sealed_end_, of which sealed_sent_ bytes are sent
  std::size_t sealed_end_ = 0;
  std::size_t sealed_sent_ = 0;
};

}  // namespace tidegate::runtime
