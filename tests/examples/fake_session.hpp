// A session of one worker in memory, with SGD: looks like tidegate::session to `worker`, and
// checks that the caller keeps a session's rules. A push is under way until the clock after the
// next; what parameters() showed is spoilt by the next push. One thread; owns everything.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/fashion_mnist/sampler.hpp"
#include <tidegate/status.hpp>

namespace tidegate::examples {

class fake_session {
 public:
  struct info_type {
    std::uint32_t rank = 0;
    std::uint32_t workers = 1;
    std::uint64_t seed = 1;
  };
  struct table {
    std::size_t id = 0;
  };
  struct progress {
    std::uint64_t clocks_total = 0;
    double epoch = 0;
    double loss = 0;
    std::uint64_t samples = 0;
  };
  class pending {
   public:
    explicit pending(std::function<status()> wait) : wait_(std::move(wait)) {}
    status wait() const { return wait_(); }

   private:
    std::function<status()> wait_;
  };

  const info_type& info() const noexcept { return info_; }
  std::uint64_t now() const noexcept { return clock_; }

  expected<table> open_table(std::string_view name, const std::vector<std::uint64_t>& shape) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return table{i};
    }
    std::uint64_t size = 1;
    for (auto d : shape) size *= d;
    splitmix64 random(names_.size());
    std::vector<float> values(size);
    for (auto& x : values) {
      x = init * (static_cast<float>(random.below(2001)) / 1000.0F - 1.0F);
    }
    names_.emplace_back(name);
    shown_.emplace_back(size);
    gradients_.push_back({std::vector<float>(size), std::vector<float>(size)});
    values_.push_back(std::move(values));
    clocks_applied_.push_back(0);
    return table{names_.size() - 1};
  }

  pending pull(const table& where) {
    return pending([this, where]() -> status {
      if (!fail_pull) return fail_pull;
      shown_[where.id] = values_[where.id];
      return {};
    });
  }
  pending pull_final(const table& where) { return pull(where); }
  std::span<const float> parameters(const table& where) const { return shown_[where.id]; }
  std::span<float> gradient(const table& where) { return gradients_[where.id][clock_ % 2]; }

  // Applied at once, so that a test can compare runs, and once per clock, as shards do.
  pending push(const table& where) {
    const auto gradient = this->gradient(where);
    std::ranges::fill(shown_[where.id], std::numeric_limits<float>::quiet_NaN());
    if (clock_ >= clocks_applied_[where.id]) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        values_[where.id][i] -= 0.1F * gradient[i];
      }
      clocks_applied_[where.id] = clock_ + 1;
    }
    const std::uint64_t id = ++pushes_;
    in_flight[id] = {
        .where = gradient, .as_pushed = {gradient.begin(), gradient.end()}, .clock = clock_};
    return pending([]() -> status { return {}; });
  }

  status clock() {
    if (clock_ == fail_clock_at) return {errc::unavailable, "cut off"};
    ++clock_;
    // The half of the clock to come is free again, and must be as it was pushed until now.
    std::erase_if(in_flight, [&](const auto& entry) {
      const auto& [where, as_pushed, clock] = entry.second;
      if (clock + 2 > clock_) return false;
      if (!std::ranges::equal(where, as_pushed)) ++broken_rules;
      return true;
    });
    return {};
  }

  void report(const progress& now) { reports.push_back(now); }
  void report_metric(std::string_view name, double value) {
    metrics[std::string(name)] = value;
  }
  const std::vector<std::vector<float>>& values() const noexcept { return values_; }

  struct flight {
    std::span<const float> where;
    std::vector<float> as_pushed;
    std::uint64_t clock = 0;
  };
  std::map<std::uint64_t, flight> in_flight;
  std::size_t broken_rules = 0;  // gradients that changed while under way
  std::vector<progress> reports;
  std::map<std::string, double> metrics;
  float init = 0.0F;
  std::uint64_t fail_clock_at = ~0ULL;
  status fail_pull;

 private:
  info_type info_;
  std::uint64_t clock_ = 0;
  std::uint64_t pushes_ = 0;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> clocks_applied_;  // per table
  std::vector<std::vector<float>> values_;
  std::vector<std::vector<float>> shown_;
  std::vector<std::array<std::vector<float>, 2>> gradients_;
};

}  // namespace tidegate::examples
