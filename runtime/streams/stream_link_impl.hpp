// The class behind open_stream_link(), of this folder alone: joins connections to a link, and
// decides on the order in a turn. One reactor thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/memory_source.hpp"
#include "runtime/streams/incoming_stream.hpp"
#include "runtime/streams/outgoing_stream.hpp"
#include "runtime/streams/stream_address.hpp"
#include "runtime/streams/stream_home.hpp"
#include "runtime/streams/stream_link.hpp"

namespace tidegate::runtime {

class stream_link final : public link {
 public:
  explicit stream_link(const stream_options& options);
  ~stream_link() override;

  status open();

  void set_sink(frame_sink* sink) override { home_.delivery.set_sink(sink); }
  std::string address() const override { return address_; }
  expected<peer_id> connect(std::string_view address, reach where) override;
  void disconnect(peer_id peer) override;
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override;
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override;
  std::size_t bundle_frames_most() const override { return bundle_frames_max; }
  unsigned progress() override;
  int event_fd() const override { return home_.events.fd(); }
  bool arm() override;
  void close(std::uint32_t flush_ms_max) override;
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override { return home_.counters; }

 private:
  // Strangers have the first slots, by their place in the room; who has proven itself moves on.
  using slot = std::uint32_t;

  status listen();
  // Returns which of the peer's addresses the next connection to it takes.
  std::size_t rail_to(const stream_address& where) const;
  outgoing_stream& to(peer_id peer);
  void queue_flush(peer_id peer);
  unsigned flush_all();
  unsigned handle(const stream_event& event);
  unsigned accept_some(std::uint32_t rail);
  void greet(unique_fd accepted);
  unsigned hear(slot from);
  unsigned hear_stranger(slot from);
  void admit(slot from);
  void turn_away(slot from, stream_proof proof);
  void expire();
  void set_timer();
  void end_given_up(std::uint64_t link, std::uint32_t connection);
  // Ends those that were admitted before `until`, or all.
  void end_incoming_from(std::uint64_t link, std::optional<std::uint64_t> until);
  bool has_other_than(peer_id peer) const;
  unsigned end_departing();
  unsigned tell();
  void report_refused();

  stream_options options_;
  stream_home home_;
  std::string address_;
  std::shared_ptr<memory_source> memory_ = std::make_shared<heap_source>();
  std::vector<unique_fd> listeners_;  // by address
  bool listener_paused_ = false;
  stranger_room room_;
  std::uint64_t refused_ = 0;
  std::deque<outgoing_stream> outgoing_;                    // by peer
  std::vector<std::unique_ptr<incoming_stream>> incoming_;  // by slot
  std::vector<slot> late_;
  std::vector<peer_id> to_flush_;
  std::vector<bool> flush_queued_;  // by peer
  std::vector<peer_id> departing_;
  std::vector<stream_home::outcome> telling_;
};

}  // namespace tidegate::runtime
