// Of which updates the sums are that aggregators send. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>

#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/update.hpp"

namespace tidegate::sim {

// A sum goes upstream under a rank and clock of its aggregator's.
struct sum_key {
  process_id from = 0;
  std::uint32_t rank = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t clock = 0;

  friend auto operator<=>(const sum_key&, const sum_key&) = default;
};

class sum_ledger {
 public:
  void summed(const sum_key& sum, updates parts) { parts_[sum] = std::move(parts); }
  // Null: a push of a worker's own.
  const updates* find(const sum_key& sum) const {
    const auto at = parts_.find(sum);
    return at == parts_.end() ? nullptr : &at->second;
  }

 private:
  std::map<sum_key, updates> parts_;
};

}  // namespace tidegate::sim
