#include "runtime/parts/row_lease.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::uint64_t mark = 0x65736165'6c776f72;  // "rowlease"

struct lease_wire {
  std::uint64_t mark = 0;
  std::uint64_t version = 0;
  segment_name segment;
  row_shape shape;
  std::uint64_t key = 0;
  float scale = 0;
  std::uint32_t kind = 0;
};
static_assert(sizeof(lease_wire) == 72 && sizeof(lease_wire) <= row_lease_bytes);

}  // namespace

void encode(const row_lease& lease, std::span<std::byte> into) {
  TIDEGATE_ASSERT(into.size() == row_lease_bytes, "room for a lease");
  const auto& place = lease.place;
  const lease_wire wire{.mark = mark,
                        .version = lease.version,
                        .segment = place.segment,
                        .shape = place.shape,
                        .key = place.initial.key,
                        .scale = place.initial.scale,
                        .kind = static_cast<std::uint32_t>(place.initial.kind)};
  std::fill(into.begin(), into.end(), std::byte{0});
  std::memcpy(into.data(), &wire, sizeof wire);
}

expected<row_lease> decode_lease(std::span<const std::byte> bytes) {
  lease_wire wire;
  if (bytes.size() == row_lease_bytes) std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.mark != mark || wire.kind > static_cast<std::uint32_t>(initial_kind::normal))
    return fail(errc::corrupt,
                "no lease on rows, in " + std::to_string(bytes.size()) + " bytes");
  row_lease lease;
  lease.version = wire.version;
  lease.place = {
      .segment = wire.segment,
      .shape = wire.shape,
      .initial = {
          .kind = static_cast<initial_kind>(wire.kind), .scale = wire.scale, .key = wire.key}};
  if (!is_valid(lease.place.initial))
    return fail(errc::corrupt, "a lease on rows whose initial values are none");
  return lease;
}

}  // namespace tidegate::runtime
