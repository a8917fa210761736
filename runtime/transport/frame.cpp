#include "runtime/transport/frame.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace tidegate::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

template <class T, std::size_t Size>
void put(std::array<std::byte, Size>& wire, std::size_t offset, T value) noexcept {
  std::memcpy(wire.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> wire, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, wire.data() + offset, sizeof value);
  return value;
}

bool carries_payload(const frame_header& header) noexcept {
  const bool answers =
      header.kind == frame_kind::pull_reply || header.kind == frame_kind::call_reply ||
      header.kind == frame_kind::attach_ack || header.kind == frame_kind::device_attach_ack;
  return header.kind == frame_kind::push || header.kind == frame_kind::attach ||
         header.kind == frame_kind::seed || header.kind == frame_kind::lend ||
         header.kind == frame_kind::device_attach || header.kind == frame_kind::call ||
         (header.kind == frame_kind::step && (header.flags & frame_flag_skip) == 0) ||
         (answers && header.code == 0);
}

// These have no min clock.
constexpr bool carries_squares(frame_kind kind) noexcept {
  return kind == frame_kind::norm_part || kind == frame_kind::norm ||
         kind == frame_kind::step || kind == frame_kind::steps || kind == frame_kind::seed;
}

constexpr std::uint16_t flags_known = frame_flag_final | frame_flag_push | frame_flag_skip |
                                      frame_flag_pull | frame_flag_applied | frame_flag_up |
                                      frame_flag_again | frame_flag_squares |
                                      frame_flag_device | frame_flag_coded;

}  // namespace

frame_header_wire encode(const frame_header& header) noexcept {
  frame_header_wire wire{};
  put(wire, 0, frame_magic);
  put(wire, 4, frame_version);
  put(wire, 5, static_cast<std::uint8_t>(header.kind));
  put(wire, 6, header.flags);
  put(wire, 8, header.job);
  put(wire, 16, header.epoch);
  put(wire, 24, header.clock);
  put(wire, 32, header.version);
  if (carries_squares(header.kind))
    put(wire, 40, header.squares);
  else
    put(wire, 40, header.min_clock);
  put(wire, 48, header.payload_bytes);
  put(wire, 56, header.request);
  put(wire, 64, header.incarnation);
  put(wire, 68, header.worker);
  put(wire, 72, header.table);
  put(wire, 76, header.chunk);
  put(wire, 80, header.code);
  put(wire, 84, header.count);
  put(wire, 88, header.version_buffer);
  put(wire, 90, header.shard);
  put(wire, 92, header.rate);
  return wire;
}

expected<frame_header> decode(std::span<const std::byte> wire,
                              std::uint64_t payload_bytes_arrived) {
  if (wire.size() != frame_header_bytes)
    return fail(errc::corrupt, "a frame header of " + std::to_string(wire.size()) +
                                   " bytes, not " + std::to_string(frame_header_bytes));
  if (get<std::uint32_t>(wire, 0) != frame_magic)
    return fail(errc::corrupt, "a frame that is not Tidegate's (magic)");
  const auto version = get<std::uint8_t>(wire, 4);
  if (version != frame_version)
    return fail(errc::corrupt, "a frame of protocol version " + std::to_string(version) +
                                   "; this process speaks " + std::to_string(frame_version));
  const auto kind = get<std::uint8_t>(wire, 5);
  if (kind == 0 || kind > frame_kind_last)
    return fail(errc::corrupt, "a frame of unknown kind " + std::to_string(kind));

  frame_header header;
  header.kind = static_cast<frame_kind>(kind);
  header.flags = get<std::uint16_t>(wire, 6);
  header.job = get<std::uint64_t>(wire, 8);
  header.epoch = get<std::uint64_t>(wire, 16);
  header.clock = get<std::uint64_t>(wire, 24);
  header.version = get<std::uint64_t>(wire, 32);
  if (carries_squares(header.kind))
    header.squares = get<double>(wire, 40);
  else
    header.min_clock = get<std::uint64_t>(wire, 40);
  header.payload_bytes = get<std::uint64_t>(wire, 48);
  header.request = get<std::uint64_t>(wire, 56);
  header.incarnation = get<std::uint32_t>(wire, 64);
  header.worker = get<std::uint32_t>(wire, 68);
  header.table = get<std::uint32_t>(wire, 72);
  header.chunk = get<std::uint32_t>(wire, 76);
  header.code = get<std::uint32_t>(wire, 80);
  header.count = get<std::uint32_t>(wire, 84);
  header.version_buffer = get<std::uint16_t>(wire, 88);
  header.shard = get<std::uint16_t>(wire, 90);
  header.rate = get<float>(wire, 92);
  if ((header.flags & ~flags_known) != 0)
    return fail(errc::corrupt, "a frame with unknown flags");
  if (!std::isfinite(header.rate) || header.rate < 0)
    return fail(errc::corrupt, "a frame whose rate is negative or not finite");
  if (!(header.squares >= 0))
    return fail(errc::corrupt, "a frame whose sum of squares is negative or NaN");
  if (header.payload_bytes != payload_bytes_arrived)
    return fail(errc::corrupt, "a frame that says " + std::to_string(header.payload_bytes) +
                                   " payload bytes and has " +
                                   std::to_string(payload_bytes_arrived));
  if (carries_payload(header) != (header.payload_bytes != 0))
    return fail(errc::corrupt, "a frame whose kind and payload disagree");
  if (header.payload_bytes % sizeof(float) != 0)
    return fail(errc::corrupt, "a payload that is no whole number of float32");
  return header;
}

std::uint64_t claimed_payload_bytes(std::span<const std::byte> wire) noexcept {
  return get<std::uint64_t>(wire, 48);
}

place_wire encode(const shm_handle& place) noexcept {
  place_wire wire{};
  put(wire, 0, place.segment.pid);
  put(wire, 4, place.segment.fd);
  put(wire, 8, place.segment.inode);
  put(wire, 16, place.segment.bytes);
  put(wire, 24, place.copy_bytes);
  put(wire, 32, place.offset);
  return wire;
}

expected<shm_handle> decode_place(std::span<const std::byte> wire) {
  if (wire.size() != place_wire_bytes)
    return fail(errc::corrupt, "the name of a place in " + std::to_string(wire.size()) +
                                   " bytes, not " + std::to_string(place_wire_bytes));
  shm_handle place;
  place.segment = {.pid = get<std::uint32_t>(wire, 0),
                   .fd = get<std::uint32_t>(wire, 4),
                   .inode = get<std::uint64_t>(wire, 8),
                   .bytes = get<std::uint64_t>(wire, 16)};
  place.copy_bytes = get<std::uint64_t>(wire, 24);
  place.offset = get<std::uint64_t>(wire, 32);
  return place;
}

}  // namespace tidegate::runtime
