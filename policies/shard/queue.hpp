// Decisions of a shard core that wait to be carried out.
//
// Those about one table keep their order. Between tables of a job the one that was opened first
// comes first, whatever came in first: gradients arrive last layer first, and the next clock
// wants the first layer first (as ByteScheduler and P3 order their messages). Jobs take turns.
//
// Pure; one thread. Once warm, nothing allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <variant>

#include "policies/shard/effects.hpp"

namespace tidegate::policies {

class shard_queue {
 public:
  // Returns where a call of the core about that table appends its effects; valid as long as
  // this, as the entry stays. So only tables that are known may be named.
  shard_effects& of(std::uint64_t job, std::uint32_t table) {
    auto& home = jobs_[job];
    const auto at = home.tables.try_emplace(table).first;
    if (home.next == home.tables.end() || at->first < home.next->first) home.next = at;
    return at->second.effects;
  }

  // Carries out the next effect: perform(effect, inputs of its list), where `inputs` is valid
  // until perform appends. Returns false if there was none. perform may append to any list.
  template <class Perform>
  bool step(const Perform& perform) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (turn_ == jobs_.end()) turn_ = jobs_.begin();
      if (step(turn_->second, perform)) return true;
      ++turn_;
    }
    return false;
  }
  // Carries out all effects of one job, those that are appended meanwhile included.
  template <class Perform>
  void drain(std::uint64_t job, const Perform& perform) {
    const auto at = jobs_.find(job);
    while (at != jobs_.end() && step(at->second, perform)) {
    }
  }
  // Makes the next step another job's, if one waits.
  void take_turns() {
    if (turn_ != jobs_.end()) ++turn_;
  }
  bool empty() const {
    for (const auto& [token, job] : jobs_)
      for (std::map<std::uint32_t, table_queue>::const_iterator at = job.next;
           at != job.tables.end(); ++at)
        if (at->second.performed < at->second.effects.list.size()) return false;
    return true;
  }

 private:
  struct table_queue {
    shard_effects effects;
    std::size_t performed = 0;

    // Under async a queue may never run empty.
    void compact() {
      auto& list = effects.list;
      if (performed < compact_from || performed * 2 < list.size()) return;
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(performed));
      performed = 0;
      auto used = static_cast<std::uint32_t>(effects.inputs.size());
      const auto each_first = [&](const auto& f) {
        for (auto& effect : list)
          std::visit(
              [&](auto& item) {
                if constexpr (requires { item.first; }) f(item.first);
              },
              effect);
      };
      each_first([&](std::uint32_t& first) { used = std::min(used, first); });
      each_first([&](std::uint32_t& first) { first -= used; });
      effects.inputs.erase(effects.inputs.begin(),
                           effects.inputs.begin() + static_cast<std::ptrdiff_t>(used));
    }
  };
  static constexpr std::size_t compact_from = 256;
  struct job_queue {
    std::map<std::uint32_t, table_queue> tables;  // ids rise as tables are opened
    std::map<std::uint32_t, table_queue>::iterator next = tables.end();  // none before it waits
  };

  template <class Perform>
  static bool step(job_queue& job, const Perform& perform) {
    for (; job.next != job.tables.end(); ++job.next) {
      auto& queue = job.next->second;
      auto& list = queue.effects.list;
      if (queue.performed == list.size()) {
        queue.effects.clear();
        queue.performed = 0;
        continue;
      }
      queue.compact();
      const auto effect = list[queue.performed++];  // a copy: the list may grow
      perform(effect, std::span<const shard_effects::input>(queue.effects.inputs));
      return true;
    }
    return false;
  }

  std::map<std::uint64_t, job_queue> jobs_;
  std::map<std::uint64_t, job_queue>::iterator turn_ = jobs_.end();
};

}  // namespace tidegate::policies
