#include "runtime/transport/bundle.hpp"

#include <string>

namespace tidegate::runtime {

namespace {

status decode_all(std::span<const std::byte> wire, std::uint64_t payload_bytes_arrived,
                  std::vector<frame_header>& headers) {
  if (payload_bytes_arrived > bundle_payload_bytes_max)
    return {errc::corrupt,
            "a bundle of " + std::to_string(payload_bytes_arrived) + " payload bytes"};
  auto left = payload_bytes_arrived;
  for (; !wire.empty(); wire = wire.subspan(frame_header_bytes)) {
    const auto bytes = wire.first(frame_header_bytes);
    const auto claimed = claimed_payload_bytes(bytes);
    const auto decoded = decode(bytes, claimed);
    if (!decoded) return decoded.error();
    if (claimed == 0) return {errc::corrupt, "a bundle with a frame that has no payload"};
    if (claimed > left)
      return {errc::corrupt, "a bundle whose frames claim more than its " +
                                 std::to_string(payload_bytes_arrived) + " payload bytes"};
    left -= claimed;
    headers.push_back(*decoded);
  }
  if (left != 0)
    return {errc::corrupt, "a bundle whose frames leave " + std::to_string(left) +
                               " of its payload bytes over"};
  return {};
}

}  // namespace

status decode_bundle(std::span<const std::byte> wire, std::uint64_t payload_bytes_arrived,
                     std::vector<frame_header>& headers) {
  headers.clear();
  if (wire.empty() || wire.size() % frame_header_bytes != 0 ||
      wire.size() / frame_header_bytes > bundle_frames_max)
    return {errc::corrupt,
            "a bundle with " + std::to_string(wire.size()) + " bytes of frame headers"};
  auto decoded = decode_all(wire, payload_bytes_arrived, headers);
  if (!decoded.ok()) headers.clear();
  return decoded;
}

}  // namespace tidegate::runtime
