#include "runtime/streams/stream_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_link_impl.hpp"
#include "runtime/streams/stream_socket.hpp"

namespace tidegate::runtime {

namespace {

// What is read beyond a payload: several small frames, and little of a large one.
constexpr std::size_t scratch_bytes = std::size_t{16} << 10U;
constexpr int accepted_per_turn = 16;
// A connection that is made anew more often has told of the earlier ones as often.
constexpr int notices_most = 64;
constexpr std::int64_t ms_ns = 1'000'000;

}  // namespace

stream_link::stream_link(const stream_options& options)
    : options_(options), room_(options.strangers), incoming_(options.strangers.strangers_max) {
  home_.own = {.key = options.key, .link = draw_number(), .sealed = options.sealed};
  home_.silent_ms = options.silent_ms;
  home_.scratch.resize(scratch_bytes);
  home_.sent.reserve(outcomes_at_once);
  telling_.reserve(outcomes_at_once);
}

stream_link::~stream_link() {
  close(0);
}

status stream_link::open() {
  if (auto opened = home_.events.open(); !opened.ok()) return opened;
  if (auto listens = listen(); !listens.ok()) return listens;
  stream_address address{
      .link = home_.own.link, .port = port_of(listeners_.front().get()), .hosts = {}};
  for (std::uint32_t rail = 0; rail < listeners_.size(); ++rail) {
    const auto listener = listeners_[rail].get();
    if (!home_.events.add(listener, stream_kind::listener, rail, false))
      return {errc::over_limit, std::string("watching a socket: ") + std::strerror(errno)};
    address.hosts.push_back(ip_of(listener));
  }
  address_ = to_string(address);
  return {};
}

outgoing_stream& stream_link::to(peer_id peer) {
  TIDEGATE_ASSERT(peer < outgoing_.size(), "a peer of this link");
  return outgoing_[peer];
}

expected<peer_id> stream_link::connect(std::string_view address, reach) {
  const auto where = parse_stream_address(address);
  if (!where)
    return fail(errc::unavailable, "connecting to a peer: " + where.error().message());
  const auto peer = static_cast<peer_id>(outgoing_.size());
  auto& stream = outgoing_.emplace_back(home_, peer, where->link, where->hosts[rail_to(*where)],
                                        where->port);
  flush_queued_.push_back(false);
  stream.connect();
  auto left = notices_most;
  for (auto earlier = peer; earlier-- > 0 && left > 0;)
    if (outgoing_[earlier].was_given_up() && outgoing_[earlier].link() == where->link) {
      stream.post_notice(earlier);
      --left;
    }
  set_timer();
  return peer;
}

void stream_link::disconnect(peer_id peer) {
  TIDEGATE_ASSERT(peer < outgoing_.size(), "a peer of this link");
  departing_.push_back(peer);
}

void stream_link::post(peer_id peer, const frame_header& header,
                       std::span<const std::byte> payload, send_token token) {
  to(peer).post(header, payload, token);
  queue_flush(peer);
}

void stream_link::post_bundle(peer_id peer, std::span<const outgoing> frames) {
  TIDEGATE_ASSERT(!frames.empty() && frames.size() <= bundle_frames_max, "a bundle");
  for (const auto& frame : frames)
    to(peer).post(frame.header, frame.payload, frame.token, &frame == &frames.back());
  queue_flush(peer);
}

void stream_link::queue_flush(peer_id peer) {
  if (flush_queued_[peer]) return;
  flush_queued_[peer] = true;
  to_flush_.push_back(peer);
}

unsigned stream_link::flush_all() {
  unsigned happened = 0;
  for (const auto peer : to_flush_) {
    flush_queued_[peer] = false;
    happened += outgoing_[peer].flush();
  }
  to_flush_.clear();
  return happened;
}

unsigned stream_link::progress() {
  unsigned happened = flush_all();
  const auto events = home_.events.look();
  for (unsigned i = 0; i < events; ++i) happened += handle(home_.events.event(i));
  happened += end_departing();
  if (std::exchange(home_.wants_timer, false)) set_timer();
  return happened + tell();
}

unsigned stream_link::handle(const stream_event& event) {
  switch (event.kind) {
    case stream_kind::listener:
      return accept_some(event.index);
    case stream_kind::timer:
      expire();
      return 1;
    case stream_kind::outgoing: {
      auto& stream = outgoing_[event.index];
      const auto happened = stream.on_event(event.happened);
      if (stream.can_flush()) queue_flush(event.index);
      return happened;
    }
    case stream_kind::incoming:
      return hear(event.index);
  }
  return 0;
}

unsigned stream_link::accept_some(std::uint32_t rail) {
  unsigned happened = 0;
  for (; happened < accepted_per_turn; ++happened) {
    const auto now = steady_now();
    if (!room_.may_accept(now)) {
      for (std::uint32_t each = 0; each < listeners_.size(); ++each)
        home_.events.pause(listeners_[each].get(), stream_kind::listener, each);
      listener_paused_ = true;
      break;
    }
    unique_fd accepted(
        ::accept4(listeners_[rail].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!accepted) {
      if (has_no_room(errno)) room_.accept_failed(now);
      break;
    }
    greet(std::move(accepted));
  }
  set_timer();
  return happened;
}

void stream_link::greet(unique_fd accepted) {
  stream_draw drawn;
  if (!draw_secret(drawn.nonce).ok()) return;
  std::optional<key_share> share;
  if (home_.own.sealed) {
    auto own = key_share::draw();
    if (!own) return;
    drawn.share = own->for_the_other();
    share = std::move(*own);
  }
  if (const auto leaves = room_.make_room()) {
    ++refused_;
    incoming_[*leaves]->end();
  }
  const auto at = room_.accepted(steady_now());
  prepare_stream(accepted.get(), options_.silent_ms);
  auto stream =
      std::make_unique<incoming_stream>(home_, std::move(accepted), drawn, std::move(share));
  if (home_.events.add(stream->socket(), stream_kind::incoming, at, false) &&
      stream->challenge())
    incoming_[at] = std::move(stream);
  else
    room_.leave(at);
}

unsigned stream_link::hear(slot from) {
  auto* const stream = from < incoming_.size() ? incoming_[from].get() : nullptr;
  if (stream == nullptr || !stream->is_alive()) return 0;
  if (from < room_.slots()) return hear_stranger(from);
  const auto happened = stream->receive();
  if (stream->has_notices())
    stream->take_notices([this, link = stream->link()](std::uint32_t connection) {
      end_given_up(link, connection);
    });
  return happened;
}

unsigned stream_link::hear_stranger(slot from) {
  const auto proof = incoming_[from]->prove();
  if (proof == stream_proof::waiting) return 0;
  room_.leave(from);
  if (!proof)
    incoming_[from]->end();  // it has closed: who goes by itself is no news
  else if (proof == stream_proof::proven)
    admit(from);
  else
    turn_away(from, *proof);
  set_timer();
  return 1;
}

// Moves it out of the room of strangers.
void stream_link::admit(slot from) {
  auto stream = std::move(incoming_[from]);
  const auto begin = incoming_.begin() + static_cast<std::ptrdiff_t>(room_.slots());
  auto free = std::find_if(begin, incoming_.end(), [](const auto& other) {
    return other == nullptr || !other->is_alive();
  });
  if (free == incoming_.end()) free = incoming_.emplace(incoming_.end());
  const auto at = static_cast<slot>(free - incoming_.begin());
  home_.events.watch(stream->socket(), stream_kind::incoming, at, false);
  *free = std::move(stream);
}

// Of the last two it is known that they are of this run.
void stream_link::turn_away(slot from, stream_proof proof) {
  incoming_[from]->end();
  if (proof == stream_proof::other_sealing)
    log::warn("a process of this run was refused: " + std::string(to_string(proof)));
  if (proof == stream_proof::other_sealing || proof == stream_proof::other_link) return;
  ++refused_;
  report_refused();
}

void stream_link::report_refused() {
  if (room_.report(refused_, steady_now()))
    log::warn("port " + std::to_string(port_of(listeners_.front().get())) +
              " of the data plane: " + std::to_string(refused_) +
              " connections refused that did not prove this run's key");
}

void stream_link::expire() {
  const auto now = steady_now();
  late_.clear();
  room_.expire(now, late_);
  for (const auto at : late_) turn_away(at, stream_proof::waiting);
  for (auto& stream : outgoing_) stream.expire(now);
  if (std::exchange(listener_paused_, false))
    for (std::uint32_t rail = 0; rail < listeners_.size(); ++rail)
      home_.events.watch(listeners_[rail].get(), stream_kind::listener, rail, false);
  report_refused();
  home_.events.set_timer(std::nullopt);
  set_timer();
}

void stream_link::set_timer() {
  auto next = room_.next_deadline(refused_);
  for (const auto& stream : outgoing_)
    if (const auto until = stream.deadline()) next = next ? std::min(*next, *until) : *until;
  home_.events.set_timer(next);
}

void stream_link::end_given_up(std::uint64_t link, std::uint32_t connection) {
  for (auto at = room_.slots(); at < incoming_.size(); ++at)
    if (auto& stream = incoming_[at]; stream && stream->is_alive() && stream->link() == link &&
                                      stream->connection() == connection)
      stream->end();
}

void stream_link::end_incoming_from(std::uint64_t link, std::optional<std::uint64_t> until) {
  for (auto at = room_.slots(); at < incoming_.size(); ++at)
    if (auto& stream = incoming_[at]; stream && stream->is_alive() && stream->link() == link &&
                                      (!until || stream->admitted_at() < *until))
      stream->end();
}

bool stream_link::has_other_than(peer_id peer) const {
  return std::any_of(outgoing_.begin(), outgoing_.end(), [&](const outgoing_stream& other) {
    return &other != &outgoing_[peer] && other.is_alive() &&
           other.link() == outgoing_[peer].link();
  });
}

unsigned stream_link::end_departing() {
  if (departing_.empty()) return 0;
  unsigned happened = 0;
  for (const auto peer : std::exchange(departing_, {})) {
    auto& stream = outgoing_[peer];
    if (stream.was_given_up()) continue;
    ++happened;
    stream.give_up();
    // Of several members of one process another may still be connected. What the peer has made
    // since this one was lost takes the place of what it had before.
    if (!has_other_than(peer)) end_incoming_from(stream.link(), stream.lost_at());
    for (peer_id other = 0; other < outgoing_.size(); ++other)
      if (outgoing_[other].is_alive() && outgoing_[other].link() == stream.link()) {
        outgoing_[other].post_notice(peer);
        queue_flush(other);
      }
  }
  return happened;
}

unsigned stream_link::tell() {
  unsigned happened = 0;
  std::swap(home_.sent, telling_);
  happened += static_cast<unsigned>(telling_.size());
  static const status lost{errc::unavailable, "the connection to a peer broke"};
  for (const auto& outcome : telling_)
    home_.delivery.sink().on_sent(outcome.token, outcome.sent ? status() : lost);
  telling_.clear();
  while (!home_.frames_lost.empty()) {
    const auto header = home_.frames_lost.back();
    home_.frames_lost.pop_back();
    ++happened;
    home_.delivery.sink().on_frame_lost(header);
  }
  while (!home_.lost.empty()) {
    const auto loss = std::move(home_.lost.back());
    home_.lost.pop_back();
    ++happened;
    home_.delivery.sink().on_peer_lost(loss.peer, loss.why);
  }
  return happened;
}

bool stream_link::arm() {
  return to_flush_.empty() && departing_.empty() && home_.sent.empty() && home_.lost.empty() &&
         home_.frames_lost.empty();
}

void stream_link::close(std::uint32_t flush_ms_max) {
  if (listeners_.empty()) return;
  const auto until = steady_now() + flush_ms_max * ms_ns;
  const auto waits = [this] {
    return std::any_of(outgoing_.begin(), outgoing_.end(), [](const outgoing_stream& stream) {
      return stream.is_alive() && !stream.is_empty();
    });
  };
  // Nobody takes what still comes.
  home_.events.set_timer(std::nullopt);
  for (const auto& listener : listeners_) home_.events.remove(listener.get());
  for (const auto& stream : incoming_)
    if (stream && stream->is_alive()) home_.events.remove(stream->socket());
  while (waits() && steady_now() < until) {
    flush_all();
    pollfd waited{.fd = home_.events.fd(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, 10);
    const auto events = home_.events.look();
    for (unsigned i = 0; i < events; ++i)
      if (home_.events.event(i).kind == stream_kind::outgoing) handle(home_.events.event(i));
  }
  home_.delivery.set_sink(nullptr);
  for (auto& stream : outgoing_) stream.give_up();
  for (auto& stream : incoming_)
    if (stream) stream->end();
  home_.sent.clear();
  home_.lost.clear();
  home_.frames_lost.clear();
  listeners_.clear();
}

expected<std::unique_ptr<link>> open_stream_link(const stream_options& options) {
  auto opening = std::make_unique<stream_link>(options);
  if (auto opened = opening->open(); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(opening));
}

}  // namespace tidegate::runtime
