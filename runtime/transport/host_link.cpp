#include "runtime/transport/host_link.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
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

status failed(const char* subject) {
  return {errc::io_error,
          std::string("a link of one host: ") + subject + ": " + std::strerror(errno)};
}

}  // namespace

status host_link::open() {
  auto bell = doorbell::create();
  if (!bell) return bell.error();
  auto desk = segment::create("tidegate-desk", desk_view::bytes, segment::pages::small);
  if (!desk) return desk.error();
  all_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!all_) return failed("epoll");
  bell_ = std::move(*bell);
  desk_ = std::move(*desk);
  for (const int fd : {bell_.fd(), elsewhere_->event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return failed("epoll");
  }
  self_.magic = address_magic;
  if (::getrandom(&self_.link, sizeof self_.link, 0) != sizeof self_.link)
    return failed("getrandom");
  // Into a process that may not be looked at, as after setuid(), others cannot look either.
  if (::prctl(PR_GET_DUMPABLE) != 1) self_.link = no_rings;
  self_.bell = bell_.name();
  self_.desk = desk_.name();
  for (auto slot = desk_view::slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  return {};
}

void host_link::set_sink(frame_sink* sink) {
  sink_ = sink != nullptr ? sink : &nobody_;
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
    auto ring = std::make_unique<ring_out>();
    if (open_ring(*ring, to).ok()) {
      out_.push_back(std::move(ring));
      notes_wait_ = true;
      greet();
      return name_of(out_.size() - 1);
    }
    if (is_gone(to.bell)) {
      out_.push_back(nullptr);
      lost_.emplace_back(name_of(out_.size() - 1), status(errc::not_found, "it has died"));
      return name_of(out_.size() - 1);
    }
  }
  const auto connected = elsewhere_->connect(address.substr(sizeof to), where);
  if (!connected) return connected;
  return *connected << 1U;
}

status host_link::open_ring(ring_out& ring, const host_place& to) {
  auto rope = bell_rope::open(to.bell);
  if (!rope) return rope.error();
  auto desk = segment::open(to.desk);
  if (!desk) return desk.error();
  if (desk->size() < desk_view::bytes) return {errc::corrupt, "no such desk"};
  auto memory = segment::create("tidegate-ring", ring_bytes, segment::pages::small);
  if (!memory) return memory.error();
  ring.to = to;
  ring.rope = std::move(*rope);
  ring.desk = std::move(*desk);
  ring.desk.hide();
  ring.memory = std::move(*memory);
  ring.ring = ring_writer({ring.memory.data(), ring_bytes});
  return {};
}

host_link::ring_out* host_link::out_of(peer_id peer) {
  TIDEGATE_ASSERT(peer >> 1U < out_.size(), "a peer of this link");
  auto* out = out_[peer >> 1U].get();
  return out != nullptr && !out->departs ? out : nullptr;
}

void host_link::disconnect(peer_id peer) {
  if (!is_ring(peer)) return elsewhere_->disconnect(peer >> 1U);
  std::erase_if(lost_, [&](const auto& entry) { return entry.first == peer; });
  auto* out = out_of(peer);
  if (out == nullptr) return sweep();  // it was lost before; its process may have ended since
  out->departs = parting_ = true;
}

void host_link::lose(std::size_t ring, const status& why) {
  const bool reported = out_[ring]->departs;
  end(ring, why);
  if (!reported) lost_.emplace_back(name_of(ring), why);
}

// All that was on its way, and the ring. What was lent is its owner's again.
void host_link::end(std::size_t ring, const status& why) {
  auto& out = *out_[ring];
  out.ring.retire();
  const auto tell = [&](send_token token) {
    if (token != 0) failed_.push({token, why});
  };
  for (; !out.tokens.empty(); out.tokens.pop()) tell(out.tokens.front().token);
  for (; !out.frames.empty(); out.frames.pop()) tell(out.frames.front().token);
  out_[ring].reset();
}

// Ends the rings to those from whom this link was disconnected, and all rings that are not read
// any more: theirs, those of links that have closed or died, and those with garbage. What is
// left in them is read before their writers are told, who give what they lent away then.
unsigned host_link::part() {
  if (!std::exchange(parting_, false)) return 0;
  unsigned happened = 0;
  std::vector<std::size_t> departing;  // a sink may disconnect others meanwhile
  for (std::size_t i = 0; i < out_.size(); ++i) {
    if (!out_[i] || !out_[i]->departs) continue;
    departing.push_back(i);
    const auto peer_link = out_[i]->to.link;
    if (is_connected_to(peer_link)) continue;
    for (auto& in : in_) in->departs = in->departs || in->from.link == peer_link;
  }
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (!in_[i]->departs) continue;
    receive(*in_[i], std::numeric_limits<std::uint64_t>::max());
    drop(*in_[i]);
    ++happened;
  }
  std::erase_if(in_, [](const auto& in) { return in->dropped; });
  for (const auto i : departing) {
    if (!out_[i]) continue;
    end(i, {errc::unavailable, "the connection was closed"});
    ++happened;
  }
  return happened;
}

unsigned host_link::progress() {
  return turn() + elsewhere_->progress();
}

unsigned host_link::turn() {
  unsigned happened = 0;
  const bool woken = armed_;
  if (woken) rise();
  if (woken || ++turns_ % turns_between_notes == 0) happened += read_notes();
  if (notes_wait_) greet();
  // By index: a sink may connect.
  for (std::size_t i = 0; i < in_.size(); ++i) happened += receive(*in_[i], turn_bytes);
  for (std::size_t i = 0; i < out_.size(); ++i)
    if (out_[i]) happened += pump(*out_[i]);
  return happened + part() + tell();
}

unsigned host_link::tell() {
  unsigned happened = 0;
  for (; !failed_.empty(); ++happened) {
    const auto result = std::move(failed_.front());
    failed_.pop();
    sink_->on_sent(result.token, result.result);
  }
  for (; !frames_lost_.empty(); ++happened) {
    const auto header = frames_lost_.back();
    frames_lost_.pop_back();
    sink_->on_frame_lost(header);
  }
  for (; !bad_.empty(); ++happened) {
    const auto why = std::move(bad_.back());
    bad_.pop_back();
    sink_->on_bad_frame(why);
  }
  for (; !lost_.empty(); ++happened) {
    const auto pair = std::move(lost_.back());
    lost_.pop_back();
    sink_->on_peer_lost(pair.first, pair.second);
  }
  return happened;
}

// Each side first says what it waits for, then looks once more; the other first gives it, then
// looks who waits.
bool host_link::arm() {
  sleeps_ += 2;
  if (sleeps_ == 0) sleeps_ = 2;
  desk_view(desk_.data())
      .asleep()
      .store(sleeps_ + (patient_ ? 1 : 0), std::memory_order_relaxed);
  for (auto& out : out_)
    if (out && (!out->frames.empty() || !out->tokens.empty())) out->ring.want_room(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  armed_ = true;
  if (!has_work() && read_notes() == 0 && elsewhere_->arm()) return true;
  rise();
  return false;
}

void host_link::rise() {
  armed_ = false;
  desk_view(desk_.data()).asleep().store(0, std::memory_order_relaxed);
  for (auto& out : out_)
    if (out) out->ring.want_room(false);
}

bool host_link::has_work() {
  if (notes_wait_ || parting_ || !failed_.empty() || !lost_.empty() || !frames_lost_.empty() ||
      !bad_.empty())
    return true;
  for (const auto& in : in_)
    if (!in->ring.is_empty()) return true;
  for (const auto& out : out_) {
    if (!out) continue;
    const auto read = read_of(*out);
    if (!out->frames.empty() && out->ring.is_news(read)) return true;
    if (!out->tokens.empty() && out->tokens.front().position <= read) return true;
  }
  return false;
}

// Whether all that was posted is where its reader finds it, even when we are gone.
bool host_link::is_flushed() {
  return std::all_of(out_.begin(), out_.end(), [](const auto& out) {
    return !out || (out->ring.position() == 0 && out->frames.empty()) ||
           (out->frames.empty() && out->tokens.empty() && out->slot);
  });
}

void host_link::close(std::uint32_t flush_ms_max) {
  using clock = std::chrono::steady_clock;
  if (std::exchange(closed_, true)) return;
  const auto deadline = clock::now() + std::chrono::milliseconds(flush_ms_max);
  while (!is_flushed() && clock::now() < deadline) {
    if (turn() + elsewhere_->progress() == 0) std::this_thread::yield();
    read_notes();
  }
  read_notes();  // who has just said hello is told, too
  for (auto& out : out_) {
    if (!out) continue;
    if (!out->tokens.empty()) out->ring.retire();
    say_farewell(out->rope);
    out.reset();
  }
  for (auto& in : in_) say_farewell(in->rope);
  in_.clear();
  sink_ = &nobody_;
  failed_.clear();
  lost_.clear();
  frames_lost_.clear();
  bad_.clear();
  bell_ = doorbell();  // whoever looks for it knows
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
  return place.magic == address_magic && place.link != no_rings && is_given_up(place.bell);
}

expected<std::unique_ptr<link>> make_host_link(std::unique_ptr<link> elsewhere) {
  auto result = std::make_unique<host_link>(std::move(elsewhere));
  if (auto opened = result->open(); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(result));
}

}  // namespace tidegate::runtime
