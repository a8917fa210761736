// Probes of a bucket, 16 tags at a time. Compiled once per vector width.
#if defined(TIDEGATE_ROWS_PROBE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_ROWS_PROBE_INL
#undef TIDEGATE_ROWS_PROBE_INL
#else
#define TIDEGATE_ROWS_PROBE_INL
#endif

#include <bit>
#include <cstdint>

#include <hwy/highway.h>

#include "runtime/rows/index_memory.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns bit i for each slot i with this tag.
HWY_INLINE std::uint32_t match(const group_tags& group, std::uint8_t tag) {
#if HWY_TARGET == HWY_SCALAR  // it has no vectors of 16
  std::uint32_t equal = 0;
  for (std::uint32_t slot = 0; slot < group_slots; ++slot)
    equal |= static_cast<std::uint32_t>(group.tags[slot] == tag) << slot;
  return equal;
#else
  const hn::FixedTag<std::uint8_t, 16> d;
  const auto* all = reinterpret_cast<const std::uint8_t*>(&group);
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, all), hn::Set(d, tag)), bits);
  return (bits[0] | std::uint32_t{bits[1]} << 8U) & ((1U << group_slots) - 1);
#endif
}

// Where `id` is.
HWY_INLINE place probe(const bucket& in, std::uint64_t hash, std::uint64_t id) {
  const auto home = home_of(hash);
  const auto tag = tag_of(hash);
  for (std::uint32_t step = 0; step < probe_groups_max; ++step) {
    const auto group = probed_group(home, step);
    for (auto bits = match(in.groups[group], tag); bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(bits));
      if (HWY_LIKELY(in.id_at(group, slot) == id)) return {.step = step, .slot = slot};
    }
    if (HWY_LIKELY(in.groups[group].passed == 0)) break;
  }
  return {};
}

}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
