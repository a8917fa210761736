#include "runtime/transport/loopback.hpp"

#include <charconv>
#include <cstring>
#include <mutex>
#include <set>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

struct loopback_network::state {
  // A message: a frame, or a bundle.
  struct envelope {
    std::vector<std::byte> headers;
    std::vector<std::byte> payload;
    bool bundle = false;
  };

  // Where the frames for one link wait. Shared by all posting threads.
  struct mailbox {
    std::mutex mutex;
    std::vector<envelope> waiting;
    bool open = true;
    int event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ~mailbox() { ::close(event_fd); }
  };

  loopback_options options;
  std::mutex mutex;
  std::vector<std::shared_ptr<mailbox>> links;
};

namespace {

using envelope = loopback_network::state::envelope;
using mailbox = loopback_network::state::mailbox;

class loopback_link final : public link {
 public:
  loopback_link(loopback_network::state& network, std::uint32_t index,
                std::shared_ptr<mailbox> inbox)
      : network_(network),
        index_(index),
        inbox_(std::move(inbox)),
        rng_(network.options.seed + index) {}
  ~loopback_link() override { close(0); }

  void set_sink(frame_sink* sink) override { sink_ = sink; }
  std::string address() const override { return "loopback:" + std::to_string(index_); }

  expected<peer_id> connect(std::string_view address, reach) override {
    constexpr std::string_view prefix = "loopback:";
    std::uint32_t index = 0;
    const auto digits = address.substr(std::min(prefix.size(), address.size()));
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    std::lock_guard lock(network_.mutex);
    if (!address.starts_with(prefix) || parsed.ec != std::errc{} ||
        index >= network_.links.size())
      return fail(errc::unavailable, "no loopback link at this address");
    peers_.push_back(network_.links[index]);
    return static_cast<peer_id>(peers_.size() - 1);
  }

  // Nothing is under way between calls.
  void disconnect(peer_id peer) override { told_lost_.insert(peer); }
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override {
    const outgoing message{.header = header, .payload = payload, .token = token};
    send(peer, {&message, 1}, false);
  }
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override {
    TIDEGATE_ASSERT(!frames.empty() && frames.size() <= bundle_frames_max, "a bundle");
    send(peer, frames, true);
  }
  std::size_t bundle_frames_most() const override { return bundle_frames_max; }

  unsigned progress() override {
    std::uint64_t drained = 0;
    if (::read(inbox_->event_fd, &drained, sizeof drained) < 0) drained = 0;  // EAGAIN: nothing
    const unsigned reported = tell_outcomes();
    {
      std::lock_guard lock(inbox_->mutex);
      for (auto& envelope : inbox_->waiting) held_.push_back(std::move(envelope));
      inbox_->waiting.clear();
    }
    std::swap(held_, due_);
    unsigned delivered = 0;
    for (auto& envelope : due_) {
      const auto one_in = network_.options.hold_one_in;
      if (one_in > 1 && rng_.below(one_in) == 0) {
        held_.push_back(std::move(envelope));
        continue;
      }
      deliver(envelope);
      ++delivered;
    }
    due_.clear();
    return reported + delivered + static_cast<unsigned>(held_.size());
  }

  int event_fd() const override { return inbox_->event_fd; }
  bool arm() override { return held_.empty() && sent_.empty(); }

  void close(std::uint32_t) override {
    std::lock_guard lock(inbox_->mutex);
    inbox_->open = false;
    inbox_->waiting.clear();
  }

  std::shared_ptr<memory_source> memory() override { return heap_; }
  const link_counters& counters() const override { return counters_; }

 private:
  struct outcome {
    send_token token;
    status result;
  };

  static void wake(int fd) {
    const std::uint64_t number = 1;
    // The only failure is a full counter, which is readable already.
    if (::write(fd, &number, sizeof number) < 0) return;
  }

  void send(peer_id peer, std::span<const outgoing> frames, bool bundle) {
    TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
    envelope message;
    message.bundle = bundle;
    for (const auto& frame : frames) {
      TIDEGATE_ASSERT(frame.header.payload_bytes == frame.payload.size(),
                      "the header tells the payload");
      const auto wire = encode(frame.header);
      message.headers.insert(message.headers.end(), wire.begin(), wire.end());
      message.payload.insert(message.payload.end(), frame.payload.begin(), frame.payload.end());
    }
    counters_.messages_sent += 1;
    counters_.frames_sent += frames.size();
    counters_.payload_bytes_sent += message.payload.size();
    auto& target = *peers_[peer];
    status result;
    {
      std::lock_guard lock(target.mutex);
      if (target.open)
        target.waiting.push_back(std::move(message));
      else
        result = status(errc::unavailable, "the peer has closed its link");
    }
    wake(target.event_fd);
    if (!result.ok() && told_lost_.insert(peer).second) lost_.push_back(peer);
    for (const auto& outgoing : frames)
      if (outgoing.token != 0) sent_.push_back({outgoing.token, result});
    if (!sent_.empty() || !result.ok()) wake(inbox_->event_fd);
  }

  unsigned tell_outcomes() {
    std::vector<outcome> sent;
    std::vector<peer_id> lost;
    std::swap(sent, sent_);
    std::swap(lost, lost_);
    for (auto& result : sent) sink_->on_sent(result.token, result.result);
    for (auto peer : lost)
      sink_->on_peer_lost(peer, status(errc::not_found, "the peer has closed its link"));
    return static_cast<unsigned>(sent.size() + lost.size());
  }

  void deliver(const envelope& from) {
    headers_.clear();
    status decoded;
    if (from.bundle) {
      decoded = decode_bundle(from.headers, from.payload.size(), headers_);
    } else if (const auto header = decode(from.headers, from.payload.size())) {
      headers_.push_back(*header);
    } else {
      decoded = header.error();
    }
    if (!decoded.ok()) {
      ++counters_.frames_bad;
      return sink_->on_bad_frame(decoded);
    }
    std::span<const std::byte> payload = from.payload;
    for (const auto& header : headers_) {
      hand_over(header, payload.first(header.payload_bytes));
      payload = payload.subspan(header.payload_bytes);
    }
  }

  void hand_over(const frame_header& header, std::span<const std::byte> payload) {
    ++counters_.frames_received;
    if (payload.empty()) return sink_->on_frame(header, {});
    buffer place = sink_->place(header);
    if (!place) {
      ++counters_.frames_refused;
      return;
    }
    TIDEGATE_ASSERT(place.size() == payload.size(), "a place fits its payload");
    std::memcpy(place.data(), payload.data(), payload.size());
    counters_.payload_bytes_received += payload.size();
    counters_.payload_bytes_copied += payload.size();
    sink_->on_frame(header, std::move(place));
  }

  loopback_network::state& network_;
  std::uint32_t index_;
  std::shared_ptr<mailbox> inbox_;
  std::vector<std::shared_ptr<mailbox>> peers_;
  frame_sink* sink_ = nullptr;
  std::vector<envelope> held_;
  std::vector<envelope> due_;
  std::vector<frame_header> headers_;  // of the message being delivered
  std::vector<outcome> sent_;
  std::vector<peer_id> lost_;
  std::set<peer_id> told_lost_;
  std::shared_ptr<heap_source> heap_ = std::make_shared<heap_source>();
  link_counters counters_;
  rng rng_;
};

}  // namespace

loopback_network::loopback_network(loopback_options options)
    : state_(std::make_unique<state>()) {
  state_->options = options;
}
loopback_network::~loopback_network() = default;

std::unique_ptr<link> loopback_network::make_link() {
  auto inbox = std::make_shared<mailbox>();
  std::lock_guard lock(state_->mutex);
  state_->links.push_back(inbox);
  return std::make_unique<loopback_link>(
      *state_, static_cast<std::uint32_t>(state_->links.size() - 1), std::move(inbox));
}

}  // namespace tidegate::runtime
