#include "runtime/transport/host_link.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <thread>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/transport/host_link_impl.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::uint64_t address_magic = 0x3130'676e'6952'4454;  // "TDRing01"
constexpr std::uint64_t no_rings = 0;
// Bytes of one ring in one turn; others wait.
constexpr std::uint64_t turn_bytes = 64U << 10U;
// Notes cost a system call to look for. Who sleeps is woken by them.
constexpr unsigned turns_between_notes = 64;

bool is_urgent(const frame_header& header) {
  const bool acknowledges =
      header.kind == frame_kind::push_ack || header.kind == frame_kind::doorbell_ack;
  return !acknowledges || header.code != 0 || header.chunk == whole_job;
}

status failed(const char* subject) {
  return {errc::io_error,
          std::string("a link of one host: ") + subject + ": " + std::strerror(errno)};
}

}  // namespace

status host_link::open() {
  auto pipe = wakeup_pipe::create();
  if (!pipe) return pipe.error();
  if (auto opened = cursors_.open(); !opened.ok()) return opened;
  all_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!all_) return failed("epoll");
  pipe_ = std::move(*pipe);
  for (const int fd : {pipe_.fd(), elsewhere_->event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return failed("epoll");
  }
  self_.magic = address_magic;
  if (::getrandom(&self_.link, sizeof self_.link, 0) != sizeof self_.link)
    return failed("getrandom");
  // Into a process that may not be looked at, as after setuid(), others cannot look either.
  if (::prctl(PR_GET_DUMPABLE) != 1) self_.link = no_rings;
  self_.pipe = pipe_.name();
  self_.cursors = cursors_.name();
  return {};
}

void host_link::set_sink(frame_sink* sink) {
  delivery_.set_sink(sink);
  elsewhere_->set_sink(this);
}

std::string host_link::address() const {
  return std::string(reinterpret_cast<const char*>(&self_), sizeof self_) +
         elsewhere_->address();
}

expected<peer_id> host_link::connect(std::string_view address, reach where) {
  host_place to;
  if (address.size() >= sizeof to) std::memcpy(&to, address.data(), sizeof to);
  if (to.magic != address_magic)
    return fail(errc::unavailable, "connecting to a peer: no address of a link");
  if (where == reach::host && to.link != no_rings && self_.link != no_rings) {
    if (const auto peer = outgoing_.open(to)) {
      greet();
      return *peer;
    }
    if (is_gone(to.pipe)) return outgoing_.add_lost({errc::not_found, "it has died"});
  }
  const auto connected = elsewhere_->connect(address.substr(sizeof to), where);
  if (!connected) return connected;
  return *connected << 1U;
}

void host_link::disconnect(peer_id peer) {
  if (!outgoing_rings::is_ring(peer)) return elsewhere_->disconnect(peer >> 1U);
  reports_.forget(peer);
  // It was lost before; its process may have ended since.
  if (!outgoing_.depart(peer)) incoming_.sweep();
}

void host_link::post(peer_id peer, const frame_header& header,
                     std::span<const std::byte> payload, send_token token) {
  if (!outgoing_rings::is_ring(peer))
    return elsewhere_->post(peer >> 1U, header, payload, token);
  ++own_.messages_sent;
  auto* ring = outgoing_.find(peer);
  send(ring, {.header = header, .payload = payload, .token = token});
  if (ring != nullptr) ring->wake(is_urgent(header) || ring->has_backlog());
}

void host_link::post_bundle(peer_id peer, std::span<const outgoing> frames) {
  if (!outgoing_rings::is_ring(peer)) return elsewhere_->post_bundle(peer >> 1U, frames);
  TIDEGATE_ASSERT(!frames.empty(), "a bundle");
  ++own_.messages_sent;
  auto* ring = outgoing_.find(peer);
  for (const auto& frame : frames) send(ring, frame);
  if (ring != nullptr) ring->wake(true);
}

void host_link::send(outgoing_ring* ring, const outgoing& frame) {
  TIDEGATE_ASSERT(frame.header.payload_bytes == frame.payload.size(),
                  "the header tells the payload");
  ++own_.frames_sent;
  own_.payload_bytes_sent += frame.payload.size();
  if (ring != nullptr) return ring->send(frame);
  if (frame.token != 0)
    reports_.send_failed(frame.token, {errc::unavailable, "the peer is gone"});
}

unsigned host_link::progress() {
  const auto happened = turn();
  return happened + elsewhere_->progress();
}

unsigned host_link::turn() {
  unsigned happened = 0;
  const bool woken = cursors_.is_asleep();
  if (woken) rise();
  if (woken || ++turns_ % turns_between_notes == 0) happened += read_notes();
  if (owes_notes()) greet();
  happened += incoming_.receive(turn_bytes);
  happened += outgoing_.pump();
  happened += part();
  return happened + reports_.tell();
}

// Ends the rings to those from whom this link was disconnected, and all rings that are not read
// any more: theirs, those of links that have closed or died, and those with garbage.
unsigned host_link::part() {
  if (!outgoing_.is_parting() && !incoming_.is_parting()) return 0;
  const auto departing = outgoing_.list_departing();  // a sink may disconnect others meanwhile
  for (const auto ring : departing) {
    const auto peer_link = outgoing_.reader_of(ring);
    if (!outgoing_.is_connected_to(peer_link)) incoming_.depart(peer_link);
  }
  const auto dropped = incoming_.drop_departing();
  return dropped + outgoing_.end(departing);
}

unsigned host_link::read_notes() {
  std::array<link_hello, 16> notes;
  unsigned happened = 0;
  std::size_t count = 0;
  do {
    count = pipe_.read(notes);
    for (const auto& note : std::span(notes).first(count)) {
      ++happened;
      take(note);
    }
  } while (count == notes.size());
  return happened;
}

void host_link::take(const link_hello& note) {
  if (note.kind == note_kind::hello) {
    incoming_.sweep();
    if (incoming_.admit(note)) greet();
  }
  if (note.kind == note_kind::welcome) outgoing_.on_welcome(note);
  if (note.kind == note_kind::farewell) {
    outgoing_.on_farewell(note);
    incoming_.depart(note.from.link);
  }
  if (note.kind == note_kind::refusal) outgoing_.on_refusal(note);
}

// Introduces rings to their readers, and readers to their rings, and says which rings are not
// read; again later where a pipe is full.
void host_link::greet() {
  incoming_.send_refusals();
  outgoing_.greet();
  incoming_.send_welcomes();
}

// Each side first says what it waits for, then looks once more; the other first gives it, then
// looks who waits.
bool host_link::arm() {
  cursors_.sleep(patient_);
  outgoing_.want_room();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_work() && read_notes() == 0 && elsewhere_->arm()) return true;
  rise();
  return false;
}

void host_link::rise() noexcept {
  cursors_.rise();
  outgoing_.need_no_room();
}

bool host_link::has_work() const noexcept {
  return owes_notes() || outgoing_.is_parting() || incoming_.is_parting() ||
         !reports_.empty() || incoming_.has_work() || outgoing_.has_work();
}

void host_link::close(std::uint32_t flush_ms_max) {
  using clock = std::chrono::steady_clock;
  if (std::exchange(closed_, true)) return;
  const auto deadline = clock::now() + std::chrono::milliseconds(flush_ms_max);
  while (!outgoing_.is_flushed() && clock::now() < deadline) {
    if (progress() == 0) std::this_thread::yield();
    read_notes();
  }
  read_notes();  // who has just said hello is told, too
  outgoing_.close();
  incoming_.close();
  delivery_.set_sink(nullptr);
  reports_.clear();
  pipe_ = wakeup_pipe();  // whoever looks for it knows
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
  elsewhere_->close(static_cast<std::uint32_t>(std::max(left, milliseconds(0)).count()));
}

const link_counters& host_link::counters() const {
  const auto& other = elsewhere_->counters();
  sum_ = own_;
  sum_.messages_sent += other.messages_sent;
  sum_.frames_sent += other.frames_sent;
  sum_.frames_received += other.frames_received;
  sum_.frames_bad += other.frames_bad;
  sum_.frames_refused += other.frames_refused;
  sum_.payload_bytes_sent += other.payload_bytes_sent;
  sum_.payload_bytes_received += other.payload_bytes_received;
  sum_.payload_bytes_copied += other.payload_bytes_copied;
  return sum_;
}

bool is_closed(std::string_view address) noexcept {
  host_place place;
  if (address.size() < sizeof place) return false;
  std::memcpy(&place, address.data(), sizeof place);
  return place.magic == address_magic && place.link != no_rings && is_given_up(place.pipe);
}

expected<std::unique_ptr<link>> make_host_link(std::unique_ptr<link> elsewhere) {
  auto result = std::make_unique<host_link>(std::move(elsewhere));
  if (auto opened = result->open(); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(result));
}

}  // namespace tidegate::runtime
