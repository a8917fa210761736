// Which rows there are after each step of a part, one id at a time: what runtime/parts has to
// come to, which shares no code with this. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/base/row_lifetime.hpp"

namespace tidegate::tests {

class row_lifetimes {
 public:
  // What is told of a step, in its order.
  struct observer {
    std::function<void(std::uint64_t id)> stepped;         // a row, which may be new
    std::function<void(std::uint64_t id)> erased;          // a row
    std::function<double(std::uint64_t id)> squares = {};  // of its values now; for order l2
  };

  // Of one part, which has these numbers to itself.
  explicit row_lifetimes(const runtime::row_lifetime& rules) : rules_(rules) {}

  // A step of this clock, with a push of these ids, which ascend.
  void step(std::uint64_t clock, std::span<const std::uint64_t> ids, const observer& watch) {
    constexpr std::size_t block = 4096;
    const auto before = now_;
    now_ = std::max(now_, clock);
    const auto period = rules_.unseen < 32 ? 1 : rules_.unseen / 16;
    if (rules_.unseen > 0 && now_ / period != before / period) {
      forget_unseen(rows_, watch.erased);
      forget_unseen(candidates_, {});
    }
    for (std::size_t first = 0; first < ids.size(); first += block) {
      const auto some = ids.subspan(first, std::min(block, ids.size() - first));
      std::vector<std::uint64_t> admitted;
      for (const auto id : some) {
        if (rows_.contains(id) || rules_.admit_count <= 1) {
          admitted.push_back(id);
          continue;
        }
        auto& seen = candidates_[id];
        seen.clock = now_;
        if (++seen.pushes < rules_.admit_count) continue;
        candidates_.erase(id);
        admitted.push_back(id);
      }
      shrink(candidates_, rules_.candidates, [](auto, const use&) { return 0.0; }, {});
      for (const auto id : admitted) {
        auto& seen = rows_[id];
        seen.clock = now_;
        ++seen.pushes;
        watch.stepped(id);
      }
      using order = runtime::eviction_order;
      const auto worth = [&](std::uint64_t id, const use& seen) {
        if (rules_.by == order::lfu) return static_cast<double>(seen.pushes);
        return rules_.by == order::l2 ? watch.squares(id) : 0.0;
      };
      if (rules_.rows > 0) shrink(rows_, rules_.rows, worth, watch.erased);
    }
  }

  std::size_t rows() const { return rows_.size(); }
  std::size_t candidates() const { return candidates_.size(); }

 private:
  struct use {
    std::uint64_t clock = 0;
    std::uint64_t pushes = 0;
  };
  using uses = std::map<std::uint64_t, use>;
  using visitor = std::function<void(std::uint64_t id)>;

  template <class Worth>
  static void shrink(uses& of, std::uint64_t limit, const Worth& worth, const visitor& erased) {
    if (of.size() <= limit) return;
    std::map<std::tuple<double, std::uint64_t, std::uint64_t>, std::uint64_t> ranked;
    for (const auto& [id, seen] : of)
      ranked[{worth(id, seen), seen.clock, runtime::mix64(id)}] = id;
    while (of.size() > limit - limit / 16) {
      const auto id = ranked.begin()->second;
      ranked.erase(ranked.begin());
      of.erase(id);
      if (erased) erased(id);
    }
  }

  void forget_unseen(uses& of, const visitor& erased) const {
    for (auto at = of.begin(); at != of.end();) {
      const auto [id, seen] = *at;
      if (seen.clock + rules_.unseen > now_) {
        ++at;
        continue;
      }
      at = of.erase(at);
      if (erased) erased(id);
    }
  }

  runtime::row_lifetime rules_;
  uses rows_;
  uses candidates_;
  std::uint64_t now_ = 0;
};

}  // namespace tidegate::tests
