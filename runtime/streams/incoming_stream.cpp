#include "runtime/streams/incoming_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/streams/stream_socket.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t wire_record = record_bytes_max + record_tag_bytes;
// A frame with no more payload than this is small: more of them are likely to be here, too.
constexpr std::size_t small_payload = std::size_t{8} << 10U;
// Reads of one turn, so that one peer does not keep others waiting.
constexpr int reads_per_turn = 8;

}  // namespace

incoming_stream::incoming_stream(stream_home& home, unique_fd socket, const stream_draw& drawn,
                                 std::optional<key_share> share)
    : home_(home),
      socket_(std::move(socket)),
      handshake_(home.own, drawn),
      share_(std::move(share)),
      ahead_(header_wire_bytes()) {}

bool incoming_stream::challenge() {
  const auto& bytes = handshake_.challenge();
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<stream_proof> incoming_stream::prove() {
  std::array<std::byte, stream_response_bytes> bytes{};
  const auto got = ::recv(socket_.get(), bytes.data(), handshake_.wants(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return stream_proof::waiting;
  if (got <= 0) return std::nullopt;
  const auto proof = handshake_.take({bytes.data(), static_cast<std::size_t>(got)});
  if (proof != stream_proof::proven) return proof;
  if (share_) {
    const auto agreed = share_->agree(handshake_.caller_share());
    if (!agreed) return stream_proof::wrong_proof;
    cipher_ = record_cipher::to_open(handshake_.record_key(*agreed));
    share_.reset();
  }
  const auto confirmation = handshake_.confirmation();
  const auto sent = ::send(socket_.get(), confirmation.data(), confirmation.size(),
                           MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(confirmation.size())) return std::nullopt;
  admitted_at_ = ++home_.events_so_far;
  return proof;
}

std::size_t incoming_stream::header_wire_bytes() const noexcept {
  return frame_header_bytes + (home_.own.sealed ? record_tag_bytes : 0);
}

std::size_t incoming_stream::payload_wire_bytes() const noexcept {
  const std::size_t bytes = header_.payload_bytes;
  if (!cipher_) return bytes;
  return bytes + (bytes + record_bytes_max - 1) / record_bytes_max * record_tag_bytes;
}

// Returns where in the payload on the wire the record at this position ends.
std::size_t incoming_stream::record_end(std::size_t wire_position) const noexcept {
  return std::min((wire_position / wire_record + 1) * wire_record, payload_wire_bytes());
}

// Returns what the bytes from this position on are: of the payload, or of a record's tag.
incoming_stream::piece incoming_stream::piece_at(std::size_t wire_position) noexcept {
  const auto begin = [this](std::size_t position) {
    return place_ ? place_.data() + position : nullptr;
  };
  if (!cipher_) return {begin(wire_position), payload_wire_bytes() - wire_position, true};
  const auto record = wire_position / wire_record;
  const auto end = record_end(wire_position);
  const auto tag_at = end - record_tag_bytes;
  if (wire_position >= tag_at)
    return {tags_[record % records_most].data() + (wire_position - tag_at), end - wire_position,
            false};
  return {begin(wire_position - record * record_tag_bytes), tag_at - wire_position, true};
}

// Collects where the payload that is arriving goes. Returns how many pieces.
std::size_t incoming_stream::collect(std::span<iovec> into, std::size_t& bytes) {
  std::size_t count = 0;
  if (!in_payload_ || !place_) return count;
  const auto whole = payload_wire_bytes();
  for (auto at = payload_have_; at < whole && count < into.size();) {
    const auto next = piece_at(at);
    into[count++] = {next.at, next.bytes};
    at += next.bytes;
    bytes += next.bytes;
  }
  return count;
}

unsigned incoming_stream::receive() {
  unsigned happened = 0;
  for (int reads = 0; reads < reads_per_turn && is_alive(); ++reads) {
    std::array<iovec, 2 * records_most> pieces{};
    std::size_t placed = 0;
    auto count = collect(std::span(pieces).first(pieces.size() - 2), placed);
    // What follows a payload is read along with its end alone.
    const bool to_the_end = !in_payload_ || payload_have_ + placed == payload_wire_bytes();
    const auto ahead = in_payload_ && !place_ ? home_.scratch.size() : to_the_end ? ahead_ : 0;
    if (ahead > 0) pieces[count++] = {home_.scratch.data(), ahead};
    const auto got = ::readv(socket_.get(), pieces.data(), static_cast<int>(count));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return happened;
    ++happened;
    if (got <= 0) {
      end();
      return happened;
    }
    const auto bytes = static_cast<std::size_t>(got);
    const auto into_place = std::min(bytes, placed);
    if (into_place > 0) advance(into_place);
    if (bytes > into_place) take_ahead({home_.scratch.data(), bytes - into_place});
    if (bytes < placed + ahead) return happened;  // that was all there was
  }
  return happened;
}

void incoming_stream::take_ahead(std::span<const std::byte> bytes) {
  while (!bytes.empty() && is_alive())
    bytes = bytes.subspan(in_payload_ ? take_payload(bytes) : take_header(bytes));
}

std::size_t incoming_stream::take_header(std::span<const std::byte> bytes) {
  const auto wanted = std::min(header_wire_bytes() - header_have_, bytes.size());
  std::memcpy(header_wire_.data() + header_have_, bytes.data(), wanted);
  header_have_ += wanted;
  if (header_have_ == header_wire_bytes()) begin_frame();
  return wanted;
}

std::size_t incoming_stream::take_payload(std::span<const std::byte> bytes) {
  const auto to = piece_at(payload_have_);
  const auto taken = std::min(to.bytes, bytes.size());
  if (to.at != nullptr && to.is_payload)
    home_.delivery.copy(to.at, bytes.first(taken));
  else if (to.at != nullptr)
    std::memcpy(to.at, bytes.data(), taken);
  advance(taken);
  return taken;
}

void incoming_stream::begin_frame() {
  header_have_ = 0;
  const auto wire = std::span(header_wire_).first<frame_header_bytes>();
  if (cipher_) {
    record_tag tag{};
    std::memcpy(tag.data(), header_wire_.data() + frame_header_bytes, tag.size());
    if (!cipher_->open(wire, tag))
      return break_off({errc::corrupt, "a record that was not sealed for this stream"});
  }
  std::uint32_t magic = 0;
  std::memcpy(&magic, wire.data(), sizeof magic);
  if (magic == notice_magic) {
    std::uint32_t connection = 0;
    std::memcpy(&connection, wire.data() + sizeof magic, sizeof connection);
    notices_.push_back(connection);
    return;
  }
  const auto decoded = decode(wire, claimed_payload_bytes(wire));
  // What follows cannot be told apart any more.
  if (!decoded) return break_off(decoded.error());
  header_ = *decoded;
  ahead_ = header_.payload_bytes <= small_payload ? home_.scratch.size() : header_wire_bytes();
  if (header_.payload_bytes == 0) return home_.delivery.deliver(header_, {});
  place_ = home_.delivery.place(header_);
  in_payload_ = true;
  payload_have_ = 0;
}

// So many more bytes of the payload are in their places.
void incoming_stream::advance(std::size_t wire_bytes) {
  const auto whole = payload_wire_bytes();
  const auto until = payload_have_ + wire_bytes;
  while (cipher_ && is_alive() && record_end(payload_have_) <= until) {
    const auto record = payload_have_ / wire_record;
    payload_have_ = record_end(payload_have_);
    if (!open_record(record))
      return break_off({errc::corrupt, "a record that was not sealed for this stream"});
    if (payload_have_ == whole) break;
  }
  payload_have_ = until;
  if (payload_have_ == whole) finish_frame();
}

bool incoming_stream::open_record(std::size_t record) {
  if (!place_) {
    cipher_->skip();
    return true;
  }
  const auto begin = record * record_bytes_max;
  const std::span<std::byte> sealed(
      place_.data() + begin, std::min<std::size_t>(record_bytes_max, place_.size() - begin));
  return cipher_->open(sealed, tags_[record % records_most]);
}

void incoming_stream::finish_frame() {
  in_payload_ = false;
  payload_have_ = 0;
  if (auto place = std::exchange(place_, {})) home_.delivery.deliver(header_, std::move(place));
}

void incoming_stream::break_off(const status& why) {
  home_.delivery.bad_frame(why);
  end();
}

void incoming_stream::end() {
  if (!is_alive()) return;
  home_.events.remove(socket_.get());
  shut_down(socket_.get());
  socket_.reset();
  if (place_) home_.frames_lost.push_back(header_);
  place_ = {};
  in_payload_ = false;
}

}  // namespace tidegate::runtime
