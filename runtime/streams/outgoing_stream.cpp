#include "runtime/streams/outgoing_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_socket.hpp"

namespace tidegate::runtime {

namespace {

// A system call takes so many pieces and about so many bytes.
constexpr std::size_t pieces_most = 64;
constexpr std::size_t send_bytes_most = std::size_t{1} << 20U;
constexpr std::int64_t looks_within_patience = 4;
// Of sealed bytes that wait for the socket.
constexpr std::size_t sealed_bytes_most = 8 * (record_bytes_max + record_tag_bytes);

}  // namespace

outgoing_stream::outgoing_stream(stream_home& home, peer_id id, std::uint64_t link,
                                 std::string host, std::uint16_t port)
    : home_(home),
      id_(id),
      link_(link),
      host_(std::move(host)),
      port_(port),
      handshake_(home.own, link, id) {}

void outgoing_stream::connect() {
  deadline_ = steady_now() + stream_patience_ns(home_.silent_ms);
  held_.reserve(outcomes_at_once);
  auto begun = begin_stream(host_, port_);
  if (!begun) return lose(begun.error().message());
  socket_ = std::move(*begun);
  prepare_stream(socket_.get(), home_.silent_ms);
  if (!home_.events.add(socket_.get(), stream_kind::outgoing, id_, true))
    lose(std::string("watching a socket: ") + std::strerror(errno));
}

std::optional<std::int64_t> outgoing_stream::deadline() const noexcept {
  if (is_alive() && (phase_ != phase::open || is_watched_)) return deadline_;
  return std::nullopt;
}

void outgoing_stream::expire(std::int64_t now) {
  if (const auto until = deadline(); !until || now < *until) return;
  const auto patience = stream_patience_ns(home_.silent_ms);
  const auto within = std::to_string(patience / 1'000'000) + " ms";
  if (phase_ == phase::connecting) return lose("no answer within " + within + "; a firewall?");
  if (phase_ == phase::proving) return lose("it listens and proves nothing");
  const auto acks = acks_of(socket_.get());
  silent_since_ = acks.is_owed ? std::max(silent_since_, now - acks.last_ns) : now;
  if (now - silent_since_ >= patience)
    return lose("nothing of what was sent was acknowledged for " + within);
  is_watched_ = acks.is_owed || acks.has_unsent;
  deadline_ = now + patience / looks_within_patience;
}

// Silence is looked for while something is under way.
void outgoing_stream::watch_silence() {
  if (std::exchange(is_watched_, true)) return;
  silent_since_ = steady_now();
  deadline_ = silent_since_ + stream_patience_ns(home_.silent_ms) / looks_within_patience;
  home_.wants_timer = true;
}

void outgoing_stream::post(const frame_header& header, std::span<const std::byte> payload,
                           send_token token, bool last) {
  TIDEGATE_ASSERT(header.payload_bytes == payload.size(), "the header tells the payload");
  if (!is_alive()) {
    if (token != 0) home_.sent.push_back({token, false});
    return;
  }
  home_.counters.messages_sent += last ? 1 : 0;
  ++home_.counters.frames_sent;
  home_.counters.payload_bytes_sent += payload.size();
  queue_.push({encode(header), payload, token, last});
}

void outgoing_stream::post_notice(peer_id connection) {
  frame_header_wire wire{};
  std::memcpy(wire.data(), &notice_magic, sizeof notice_magic);
  std::memcpy(wire.data() + sizeof notice_magic, &connection, sizeof connection);
  if (is_alive()) queue_.push({wire, {}, 0, true});
}

unsigned outgoing_stream::on_event(std::uint32_t happened) {
  if (phase_ == phase::connecting) return on_connected();
  if (phase_ == phase::proving && (happened & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    return prove();
  if (phase_ != phase::open) return 0;
  if ((happened & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    lose(why_ended(socket_.get()));
    return 1;
  }
  if ((happened & EPOLLOUT) != 0 && std::exchange(blocked_, false)) {
    home_.events.watch(socket_.get(), stream_kind::outgoing, id_, false);
    return flush();
  }
  return 0;
}

unsigned outgoing_stream::on_connected() {
  if (const auto connected = connected_as(socket_.get()); !connected.ok()) {
    lose(connected.message());
    return 1;
  }
  home_.events.watch(socket_.get(), stream_kind::outgoing, id_, false);
  prefer_reno_on_one_host(socket_.get());
  phase_ = phase::proving;
  return 1;
}

unsigned outgoing_stream::prove() {
  std::array<std::byte, stream_challenge_bytes> bytes{};
  const auto got =
      ::recv(socket_.get(), bytes.data(), std::min(handshake_.wants(), bytes.size()), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) {
    lose(got < 0 ? std::strerror(errno)
                 : "it closed the connection: it has ended, or is of another run");
    return 1;
  }
  const auto proof = handshake_.take({bytes.data(), static_cast<std::size_t>(got)});
  if (proof == stream_proof::proven) {
    open();
  } else if (proof != stream_proof::waiting) {
    lose(std::string(to_string(proof)));
  } else if (handshake_.is_challenged()) {
    if (const auto responded = respond(); !responded.ok()) lose(responded.message());
  }
  return 1;
}

status outgoing_stream::respond() {
  stream_draw drawn;
  if (auto done = draw_secret(drawn.nonce); !done.ok()) return done;
  std::optional<digest> agreed;
  if (home_.own.sealed) {
    if (handshake_.listener_share() == public_share{})
      return {errc::refused, std::string(to_string(stream_proof::other_sealing))};
    const auto share = key_share::draw();
    if (!share) return share.error();
    const auto both = share->agree(handshake_.listener_share());
    if (!both) return both.error();
    drawn.share = share->for_the_other();
    agreed = *both;
  }
  const auto& response = handshake_.respond(drawn);
  // A connection's first bytes always fit what the system has set aside to send.
  const auto sent = ::send(socket_.get(), response.data(), response.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(response.size())) return {errc::unavailable, "it closed"};
  if (agreed) cipher_ = record_cipher::to_seal(handshake_.record_key(*agreed));
  return {};
}

void outgoing_stream::open() {
  phase_ = phase::open;
  is_watched_ = false;
  if (cipher_) sealed_.resize(sealed_bytes_most);
}

unsigned outgoing_stream::flush() {
  if (!can_flush()) return 0;
  if (cipher_)
    send_sealed();
  else
    send_queue();
  return 1;
}

void outgoing_stream::send_queue() {
  while (can_flush()) {
    std::array<iovec, pieces_most> pieces{};
    std::size_t count = 0;
    std::size_t bytes = 0;
    auto skipped = front_sent_;
    for (auto& waiting : queue_.items()) {
      const std::array<std::span<const std::byte>, 2> parts{std::span(waiting.wire),
                                                            waiting.payload};
      for (const auto part : parts) {
        const auto gone = std::min(skipped, part.size());
        skipped -= gone;
        if (gone == part.size()) continue;
        pieces[count++] = {const_cast<std::byte*>(part.data()) + gone, part.size() - gone};
        bytes += part.size() - gone;
      }
      if (count + 2 > pieces_most || bytes >= send_bytes_most) break;
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!wait_for_room(sent)) continue;
    watch_silence();
    consume(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < bytes) block();
  }
}

// Returns false if nothing was sent: it is tried again at once, or when there is room, or
// never.
bool outgoing_stream::wait_for_room(ssize_t sent) {
  if (sent >= 0) return true;
  if (errno == EAGAIN)
    block();
  else if (errno != EINTR)
    lose(std::strerror(errno));
  return false;
}

void outgoing_stream::consume(std::size_t bytes) {
  front_sent_ += bytes;
  while (!queue_.empty()) {
    const auto whole = frame_header_bytes + queue_.front().payload.size();
    if (front_sent_ < whole) return;
    front_sent_ -= whole;
    finish_front();
  }
}

void outgoing_stream::finish_front() {
  const auto& front = queue_.front();
  if (front.token != 0) held_.push_back(front.token);
  if (front.last) {
    for (const auto token : held_) home_.sent.push_back({token, true});
    held_.clear();
  }
  queue_.pop();
}

void outgoing_stream::send_sealed() {
  while (can_flush()) {
    if (sealed_sent_ == sealed_end_) seal_some();
    const auto left = sealed_end_ - sealed_sent_;
    const auto sent =
        ::send(socket_.get(), sealed_.data() + sealed_sent_, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!wait_for_room(sent)) continue;
    watch_silence();
    sealed_sent_ += static_cast<std::size_t>(sent);
    if (static_cast<std::size_t>(sent) < left) block();
  }
}

void outgoing_stream::seal_some() {
  sealed_end_ = 0;
  sealed_sent_ = 0;
  while (!queue_.empty() && seal_front()) {
  }
}

// Seals the next record of the first in the queue. Returns false if there is no room for it.
bool outgoing_stream::seal_front() {
  auto& front = queue_.front();
  const auto header_left = front_sent_ == 0;
  const auto done = header_left ? 0 : front_sent_ - frame_header_bytes;
  const auto plain = header_left
                         ? std::span<const std::byte>(front.wire)
                         : front.payload.subspan(
                               done, std::min(record_bytes_max, front.payload.size() - done));
  if (sealed_end_ + plain.size() + record_tag_bytes > sealed_.size()) return false;
  auto* const into = sealed_.data() + sealed_end_;
  const auto tag = cipher_->seal(plain, into);
  std::copy(tag.begin(), tag.end(), into + plain.size());
  sealed_end_ += plain.size() + record_tag_bytes;
  consume(plain.size());
  return true;
}

void outgoing_stream::block() {
  blocked_ = true;
  home_.events.watch(socket_.get(), stream_kind::outgoing, id_, true);
}

void outgoing_stream::lose(const std::string& why) {
  if (!is_alive()) return;
  end();
  lost_at_ = ++home_.events_so_far;
  home_.lost.push_back({id_,
                        {errc::unavailable, "the connection to a peer at " + host_ + ":" +
                                                std::to_string(port_) + " broke: " + why}});
}

void outgoing_stream::give_up() {
  given_up_ = true;
  std::erase_if(home_.lost, [this](const stream_home::loss& loss) { return loss.peer == id_; });
  if (is_alive()) end();
}

// Its memory is given back, as a link keeps one for each connection that it has ever made.
void outgoing_stream::end() {
  phase_ = phase::ended;
  if (socket_) {
    home_.events.remove(socket_.get());
    shut_down(socket_.get());
  }
  socket_.reset();
  for (const auto token : held_) home_.sent.push_back({token, false});
  held_ = {};
  for (const auto& waiting : queue_.items())
    if (waiting.token != 0) home_.sent.push_back({waiting.token, false});
  queue_ = {};
  cipher_.reset();
  sealed_ = {};
  sealed_end_ = 0;
  sealed_sent_ = 0;
}

}  // namespace tidegate::runtime
