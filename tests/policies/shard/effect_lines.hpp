// The effects of a shard's core as text, a line for each. A push is "1/4": of rank 1, at clock
// 4; "1#2/4" if it comes from another incarnation than the first. Gradients are called as the
// push that brought them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "policies/model/clock_vector.hpp"
#include "policies/shard/core.hpp"

namespace tidegate::policies::tests {

using lines = std::vector<std::string>;

inline std::string text(std::uint64_t number) {
  return number == clock_vector::infinity ? "infinity" : std::to_string(number);
}
inline std::string code_text(reply_code code) {
  return std::string(to_string(code));
}
inline std::string rank_text(std::uint32_t rank, std::uint32_t incarnation = 1) {
  return text(rank) + (incarnation == 1 ? "" : "#" + text(incarnation));
}
inline std::string push_text(const frame_tag& tag) {
  return rank_text(tag.rank, tag.incarnation) + "/" + text(tag.clock);
}
inline std::string ranks_text(const std::vector<rank_progress>& ranks) {
  std::string all;
  for (const auto& rank : ranks) all += " " + text(rank.next) + (rank.finished ? "!" : "");
  return all;
}

// Knows which payload is whose, and checks that each is released once.
class effect_lines {
 public:
  explicit effect_lines(const shard_core& core) : core_(core) {}

  // A copy of one that is held is called "1/4 again".
  payload_handle new_payload(const std::string& name) {
    const bool is_copy = std::any_of(payloads_.begin(), payloads_.end(),
                                     [&](const auto& held) { return held.second == name; });
    payloads_[++last_] = name + (is_copy ? " again" : "");
    return last_;
  }
  std::size_t payloads() const { return payloads_.size(); }

  lines of(const shard_effects& effects) {
    lines all;
    for (const auto& effect : effects.list)
      all.push_back(std::visit(
          [&](const auto& content) { return text_of(content, effects.inputs); }, effect));
    return all;
  }
  std::string chunk_text(std::uint32_t slot) const {
    return "chunk " + text(core_.registry().name_of(slot).chunk);
  }

 private:
  using inputs = std::vector<shard_effects::input>;

  std::string payload_text(payload_handle payload) const {
    const auto at = payloads_.find(payload);
    return at == payloads_.end() ? "a payload that is not held" : at->second;
  }
  std::string sum_text(const inputs& all, std::uint32_t first, std::uint32_t count) const {
    std::string sum;
    for (auto at = first; at < first + count; ++at)
      sum += (sum.empty() ? "" : " + ") + payload_text(all[at].payload);
    return sum.empty() ? "nothing" : sum;
  }
  static std::string where_text(const shard_effects::version_at& where) {
    return "version " + text(where.version) + " in plane " + text(where.version_buffer) +
           ", all below " + text(where.min_clock);
  }
  static std::string run_text(const frame_tag& tag, std::uint32_t count) {
    if (tag.chunk == whole_table) return "the table";
    return "chunks " + text(tag.chunk) + "-" + text(tag.chunk + count - 1);
  }

  std::string text_of(const shard_effects::apply& apply, const inputs& all) const {
    return "step " + chunk_text(apply.slot) + ": " + sum_text(all, apply.first, apply.count) +
           " of " + text(apply.contributors) + ", plane " + text(apply.from) + " to " +
           text(apply.to) +
           (apply.keeps_sum ? ", keep the sum of clock " + text(apply.clock) : "");
  }
  std::string text_of(const shard_effects::release& release, const inputs&) {
    auto line = "release " + payload_text(release.payload);
    EXPECT_EQ(payloads_.erase(release.payload), 1U) << "released twice";
    return line;
  }
  std::string text_of(const shard_effects::acknowledge& ack, const inputs&) const {
    const bool farewell = ack.tag.chunk == whole_table;
    const auto subject = farewell
                             ? "farewell of " + rank_text(ack.tag.rank, ack.tag.incarnation)
                             : push_text(ack.tag) + " of chunk " + text(ack.tag.chunk);
    return ack.code == reply_code::ok ? "ack " + subject
                                      : "refuse " + subject + ": " + code_text(ack.code);
  }
  std::string text_of(const shard_effects::reply& reply, const inputs&) const {
    const auto subject = "pull " + push_text(reply.tag) + " of chunk " + text(reply.tag.chunk);
    if (reply.code != reply_code::ok) return "refuse " + subject + ": " + code_text(reply.code);
    return "answer " + subject + ": " + where_text(reply.where) +
           (reply.applied ? ", and ack the push" : "");
  }
  std::string text_of(const shard_effects::doorbell_acknowledge& ack, const inputs&) const {
    const auto subject = push_text(ack.tag) + " of " + run_text(ack.tag, ack.count);
    return ack.code == reply_code::ok ? "ack ring " + subject
                                      : "refuse ring " + subject + ": " + code_text(ack.code);
  }
  std::string text_of(const shard_effects::doorbell_reply& reply, const inputs&) const {
    const auto subject =
        "ring pull " + push_text(reply.tag) + " of " + run_text(reply.tag, reply.count);
    if (reply.code != reply_code::ok) return "refuse " + subject + ": " + code_text(reply.code);
    return "answer " + subject + ": " + where_text(reply.where) +
           (reply.applied ? ", and ack the push" : "");
  }
  std::string text_of(const shard_effects::measure& step, const inputs& all) const {
    return "measure clock " + text(step.clock) + " of " + chunk_text(step.slot) + ": " +
           sum_text(all, step.first, step.count) + " of " + text(step.contributors);
  }
  std::string text_of(const shard_effects::tell_norm_part& telling, const inputs&) const {
    return "tell " + push_text(telling.tag) + " the part of " + chunk_text(telling.slot);
  }
  std::string text_of(const shard_effects::tell_norm& telling, const inputs&) const {
    return "tell " + push_text(telling.tag) + " the norm";
  }
  std::string text_of(const shard_effects::hand_on& sum, const inputs& all) const {
    return "hand on clock " + text(sum.clock) + " of " + chunk_text(sum.slot) + ": " +
           sum_text(all, sum.first, sum.count);
  }
  std::string text_of(const shard_effects::ask& ask, const inputs&) const {
    const auto* asked = core_.relay().asked(ask.slot);
    return "ask for " + chunk_text(ask.slot) + " at clock " +
           (asked == nullptr ? "?" : text(asked->clock));
  }
  std::string text_of(const shard_effects::snapshot& snapshot, const inputs&) const {
    const auto& cut = core_.snapshots().cut_of(snapshot.slot);
    return "copy " + chunk_text(snapshot.slot) + " in plane " + text(snapshot.version_buffer) +
           ": version " + text(cut.version) + ", ranks at" + ranks_text(cut.ranks);
  }
  std::string text_of(const shard_effects::replicate& step, const inputs&) const {
    const auto gradient = step.skips                   ? "nothing"
                          : step.payload == no_payload ? "the kept sum"
                                                       : payload_text(step.payload);
    return "replicate " + chunk_text(step.slot) + " version " + text(step.version) + ": " +
           gradient + " of " + text(step.contributors) + ", clock " + text(step.clock) +
           " of " + (step.rank == all_ranks ? "all" : text(step.rank));
  }
  std::string text_of(const shard_effects::seed& seed, const inputs&) const {
    const auto& state = core_.replication().seed_of(seed.slot);
    std::string kept;
    for (std::size_t at = 0; at < state.kept.size(); ++at)
      kept += " " + text(state.kept[at]) + " in plane " + text(seed.kept[at]);
    return "hand over " + chunk_text(seed.slot) + " in plane " + text(seed.version_buffer) +
           ": version " + text(state.now.version) + ", ranks at" + ranks_text(state.now.ranks) +
           (kept.empty() ? "" : ", kept" + kept);
  }
  std::string text_of(const shard_effects::replicate_farewell& farewell, const inputs&) const {
    return "replicate farewell of " + text(farewell.rank);
  }
  std::string text_of(const shard_effects::followed& followed, const inputs&) const {
    return "followed " + chunk_text(followed.slot) + " to version " + text(followed.version);
  }

  const shard_core& core_;
  std::map<payload_handle, std::string> payloads_;  // that are not released
  payload_handle last_ = no_payload;
};

}  // namespace tidegate::policies::tests
