// Fuzz target: bytes from the network through the decoder into a shard's core.
//
// What decodes must encode to the same bytes; whatever a decoded frame says, the core must
// answer it and neither crash nor hold more than its bound. Built with libFuzzer, ASan and
// UBSan (CMakeLists.txt).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "policies/shard/core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/transport/frame.hpp"

namespace {

using namespace tidegate;

constexpr std::uint64_t job = 1;

policies::shard_core make_core(policies::consistency_spec consistency, bool clips_by_norm) {
  policies::shard_core core;
  core.admin().open_job(job, {.epoch = 1,
                              .workers = 3,
                              .consistency = consistency,
                              .workers_come_back = true,
                              .clips_by_norm = clips_by_norm});
  const std::vector<policies::chunk_place> places{{0, 0, 0, 4}, {1, 0, 4, 4}};
  core.admin().open_table(job, 1, places);
  for (std::uint32_t rank = 0; rank < 3; ++rank) (void)core.admin().admit_worker(job, rank, 1);
  return core;
}

// The input as small numbers, so that many frames are nearly right.
runtime::frame_header plausible(std::span<const std::uint8_t> x) {
  runtime::frame_header header;
  header.kind = static_cast<runtime::frame_kind>(1 + x[0] % runtime::frame_kind_last);
  header.flags = x[1] & 1;
  header.job = x[2] % 8 == 0 ? 2 : job;
  header.epoch = x[3] % 8 == 0 ? 0 : 1;
  header.incarnation = x[4] % 8 == 0 ? 2 : 1;
  header.worker = x[5] % 4;
  header.table = x[6] % 8 == 0 ? 2 : 1;
  header.chunk = x[7] % 3;
  header.clock = x[8] % 8;
  return header;
}

void feed(policies::shard_core& core, const runtime::frame_header& header,
          policies::shard_effects& out) {
  const policies::frame_tag tag{header.job,    header.epoch,    header.incarnation,
                                header.worker, header.table,    header.chunk,
                                header.clock,  header.clock + 1};
  out.clear();
  switch (header.kind) {
    case runtime::frame_kind::push:
      // A duplicate, too: what comes between may make one of a push that was let in.
      if (core.begin_push(tag, 16).code == policies::reply_code::ok) core.push(tag, 1, out);
      break;
    case runtime::frame_kind::skip:
      core.push(tag, policies::no_payload, out);
      break;
    case runtime::frame_kind::pull:
      core.pull(tag, (header.flags & runtime::frame_flag_final) != 0, out);
      break;
    case runtime::frame_kind::call:
      if (core.begin_call(tag, header.payload_bytes).kind ==
          policies::push_admission::verdict::take)
        core.call(tag, 1, false, out);
      break;
    case runtime::frame_kind::finished:
      core.finished(tag, out);
      break;
    case runtime::frame_kind::norm:
      if (core.norms().arrived(tag, header.squares)) core.norms().go_on(1, tag.clock, out);
      break;
    case runtime::frame_kind::norm_part:
      core.norms().tell_all(tag, 1, out);
      break;
    default:
      break;
  }
  TIDEGATE_ASSERT(core.pushes_held() <= 3 * 2 * runtime::limits::clocks_in_flight_max,
                  "held pushes are bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto head = bytes.first(std::min(size, runtime::frame_header_bytes));
  std::uint64_t claimed = 0;
  if (size >= runtime::frame_header_bytes) std::memcpy(&claimed, data + 64, sizeof claimed);
  for (const std::uint64_t arrived : {claimed, std::uint64_t{16}, std::uint64_t{0}})
    if (const auto header = runtime::decode(head, arrived)) {
      const auto again = runtime::encode(*header);
      TIDEGATE_ASSERT(std::memcmp(again.data(), data, again.size()) == 0,
                      "decode inverts encode");
    }
  if (size < 2) return 0;
  const auto kind = static_cast<policies::consistency_kind>(data[0] % 3);
  const bool clips = kind == policies::consistency_kind::bsp && data[0] % 2 == 1;
  auto core = make_core({kind, data[1] % 4u}, clips);
  policies::shard_effects out;
  for (auto rest = std::span(data, size).subspan(2); rest.size() >= 9; rest = rest.subspan(9))
    feed(core, plausible(rest), out);
  for (auto rest = bytes; rest.size() >= runtime::frame_header_bytes; rest = rest.subspan(1))
    if (const auto header = runtime::decode(rest.first(runtime::frame_header_bytes), claimed))
      feed(core, *header, out);
  return 0;
}
