// Puts the answers of a step together into as few frames as say them: neighbouring chunks of a
// worker that uses doorbells become one run, and an acknowledgement travels with the reply to
// the pull of the clock after it.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class reply_batcher {
 public:
  explicit reply_batcher(shard_state& state) : state_(state) {}

  // Answers a push or a skip. `in_place`: the worker hears of it in a run, with flush().
  void acknowledge(const chunk_record& chunk, const frame_tag& tag, bool in_place,
                   reply_code code, shard_effects& out);
  // Answers a pull, likewise.
  void reply(const chunk_record& chunk, const frame_tag& tag, bool in_place, reply_code code,
             const shard_effects::version_at& where, shard_effects& out);
  // Ends all runs.
  void flush(shard_effects& out);
  // Joins acknowledgements and replies among the effects from `begin` on that are of the same
  // worker and chunk.
  void join(std::size_t begin, shard_effects& out);

 private:
  struct answer_run {
    bool is_reply = false;
    frame_tag tag;
    std::uint32_t count = 1;
    reply_code code = reply_code::ok;
    shard_effects::version_at where{};
    bool applied = false;  // see doorbell_reply
    bool merged = false;   // an acknowledgement that a reply carries
  };

  void add(const chunk_record& chunk, answer_run run);
  void merge();

  shard_state& state_;
  std::vector<answer_run> runs_;      // of the step under way
  std::vector<std::size_t> replies_;  // by rank, of join()
};

}  // namespace tidegate::policies::sharding
