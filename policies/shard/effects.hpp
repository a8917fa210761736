// What a shard core decides, to be carried out by its shell, and the words it has for that.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "policies/model/kept_versions.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"

namespace tidegate::policies {

struct shard_effects {
  // Optimizer step on chunk slot `slot` with inputs [first, first + count), ascending in rank:
  // reads the parameters in version buffer `from` and writes them to version_buffer `to`,
  // perhaps the same.
  struct apply {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t contributors = 1;  // a mean is over so many
    bool keeps_sum = false;          // for a replicate of this clock
    std::uint64_t clock = 0;         // then
  };
  struct release {  // this payload is not needed any more
    payload_handle payload = no_payload;
  };
  struct acknowledge {  // push or skip: applied (none), or refused
    frame_tag tag;
    reply_code code = reply_code::ok;
  };
  struct version_at {
    std::uint32_t version_buffer = 0;
    std::uint64_t version = 0;
    std::uint64_t min_clock = 0;  // every worker's clocks below this are in

    friend bool operator==(const version_at&, const version_at&) = default;
  };
  // Pull: send the chunk in `slot` (none) and say sent() afterwards, or refuse.
  struct reply {
    frame_tag tag;
    reply_code code = reply_code::ok;
    std::uint32_t slot = 0;
    version_at where;
    bool applied = false;  // also acknowledges the push of the clock before
  };
  // The same for `count` chunks of a worker that rings; tag.chunk is the index of the first
  // among the table's chunks here, or whole_table for a refusal of all.
  struct doorbell_acknowledge {
    frame_tag tag;
    std::uint32_t count = 0;
    reply_code code = reply_code::ok;
  };
  struct doorbell_reply {
    frame_tag tag;
    std::uint32_t count = 0;
    reply_code code = reply_code::ok;
    version_at where;
    bool applied = false;  // also acknowledges the push of the clock before
  };
  // A relay sends the sum of these inputs upstream, or a skip if there are none, and says
  // handed_on() when it is answered. The inputs stay until then.
  struct hand_on {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t clock = 0;
  };
  // A relay pulls upstream as asked(slot) says, and says pulled() when it is answered.
  struct ask {
    std::uint32_t slot = 0;
  };
  // Copy the chunk as it is in this version buffer for a checkpoint, with what cut_of(slot)
  // says.
  struct snapshot {
    std::uint32_t slot = 0;
    std::uint32_t version_buffer = 0;
  };
  // A primary hands this step to the replica, and says replicated() when it has made it. The
  // gradient is `payload`, or the sum that was kept for the clock, or none.
  struct replicate {
    std::uint32_t slot = 0;
    std::uint64_t version = 0;  // that it makes
    std::uint32_t rank = 0;     // whose push, or all_ranks
    std::uint64_t clock = 0;
    std::uint32_t contributors = 1;  // as of apply
    bool skips = false;
    payload_handle payload = no_payload;
  };
  // Hand the chunk to the replica as it is, with what seed_of(slot) says, and say seeded() when
  // it has it. `kept`: version buffers of the versions before, the newest first, or
  // no_version_buffer.
  struct seed {
    std::uint32_t slot = 0;
    std::uint32_t version_buffer = 0;
    std::array<std::uint32_t, versions_kept_max> kept{};
  };
  // A primary tells the replica that this worker has finished, and says farewell_replicated()
  // when it knows.
  struct replicate_farewell {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
  };
  // A replica has made the step, or had made it before.
  struct followed {
    std::uint32_t slot = 0;
    std::uint64_t version = 0;
  };
  struct input {
    std::uint32_t rank = 0;
    payload_handle payload = no_payload;
  };

  std::vector<
      std::variant<apply, release, acknowledge, reply, doorbell_acknowledge, doorbell_reply,
                   hand_on, ask, snapshot, replicate, seed, replicate_farewell, followed>>
      list;
  std::vector<input> inputs;

  void clear() {
    list.clear();
    inputs.clear();
  }
};

// A table as one shard sees it: the chunks it owns, and the dense slots the core gave them.
struct owned_chunk {
  std::uint32_t chunk = 0;
  std::uint32_t slot = 0;
  std::uint64_t first = 0;  // element of the table
  std::uint64_t elements = 0;
};

struct push_admission {
  enum class verdict : std::uint8_t { take, drop, refuse };
  verdict kind = verdict::refuse;
  reply_code code = reply_code::ok;
};

}  // namespace tidegate::policies
