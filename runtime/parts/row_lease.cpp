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
  struct columns {
    std::uint16_t count = 0;
    std::uint16_t kind = 0;
    float scale = 0;
  } segments[limits::row_segments_max];
};
static_assert(sizeof(lease_wire) == row_lease_bytes);
static_assert(limits::row_dim_max <= 0xffff, "columns fit their field");

}  // namespace

void encode(const row_lease& lease, std::span<std::byte> into) {
  TIDEGATE_ASSERT(into.size() == row_lease_bytes, "room for a lease");
  const auto& place = lease.place;
  lease_wire wire{.mark = mark,
                  .version = lease.version,
                  .segment = place.segment,
                  .shape = place.shape,
                  .key = place.initial.key,
                  .segments = {}};
  for (std::size_t i = 0; i < limits::row_segments_max; ++i) {
    const auto& of = place.initial.segments[i];
    wire.segments[i] = {.count = static_cast<std::uint16_t>(of.columns),
                        .kind = static_cast<std::uint16_t>(of.kind),
                        .scale = of.scale};
  }
  std::fill(into.begin(), into.end(), std::byte{0});
  std::memcpy(into.data(), &wire, sizeof wire);
}

expected<row_lease> decode_lease(std::span<const std::byte> bytes) {
  lease_wire wire;
  if (bytes.size() == row_lease_bytes) std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.mark != mark)
    return fail(errc::corrupt,
                "no lease on rows, in " + std::to_string(bytes.size()) + " bytes");
  row_lease lease;
  lease.version = wire.version;
  lease.place = {.segment = wire.segment, .shape = wire.shape, .initial = {.key = wire.key}};
  bool is_known = true;
  for (std::size_t i = 0; i < limits::row_segments_max; ++i) {
    const auto& of = wire.segments[i];
    is_known = is_known && of.kind <= static_cast<std::uint16_t>(initial_kind::normal);
    lease.place.initial.segments[i] = {
        .columns = of.count, .kind = static_cast<initial_kind>(of.kind), .scale = of.scale};
  }
  if (!is_known || !is_valid(lease.place.initial, lease.place.shape.dim))
    return fail(errc::corrupt, "a lease on rows whose initial values are none");
  return lease;
}

}  // namespace tidegate::runtime
