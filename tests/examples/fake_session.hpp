// A session of one worker in memory, with SGD: looks like tidegate::session to `worker`, and
// checks that the caller keeps a session's rules. A push is under way until the caller waits
// for it. One thread; owns tables and pushes under way, borrows spans as the real one does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/fashion_mnist/sampler.hpp"
#include "runtime/base/status.hpp"

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
    explicit pending(std::function<runtime::status()> wait) : wait_(std::move(wait)) {}
    runtime::status wait() const { return wait_(); }

   private:
    std::function<runtime::status()> wait_;
  };

  const info_type& info() const noexcept { return info_; }
  std::uint64_t now() const noexcept { return clock_; }

  runtime::expected<table> open_table(std::string_view name,
                                      const std::vector<std::uint64_t>& shape) {
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
    values_.push_back(std::move(values));
    clocks_applied_.push_back(0);
    return table{names_.size() - 1};
  }

  pending pull(const table& where, std::span<float> out) {
    return pending([this, where, out]() -> runtime::status {
      if (!fail_pull) return fail_pull;
      std::ranges::copy(values_[where.id], out.begin());
      return {};
    });
  }
  pending pull_final(const table& where, std::span<float> out) { return pull(where, out); }

  // Applied at once, so that a test can compare runs, and once per clock, as shards do.
  pending push(const table& where, std::span<const float> gradient) {
    if (clock_ >= clocks_applied_[where.id]) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        values_[where.id][i] -= 0.1F * gradient[i];
      }
      clocks_applied_[where.id] = clock_ + 1;
    }
    const std::uint64_t id = ++pushes_;
    in_flight[id] = {gradient, {gradient.begin(), gradient.end()}, clock_};
    return pending([this, id]() -> runtime::status {
      complete(id);
      return {};
    });
  }

  runtime::status clock() {
    if (clock_ == fail_clock_at) return {runtime::errc::unavailable, "cut off"};
    ++clock_;
    std::uint64_t oldest = clock_;
    for (const auto& [id, one] : in_flight) oldest = std::min(oldest, one.clock);
    most_in_flight = std::max(most_in_flight, clock_ - oldest);
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
  std::uint64_t most_in_flight = 0;  // clocks
  std::size_t broken_rules = 0;      // gradients that changed while under way
  std::vector<progress> reports;
  std::map<std::string, double> metrics;
  float init = 0.0F;
  std::uint64_t fail_clock_at = ~0ULL;
  runtime::status fail_pull;

 private:
  void complete(std::uint64_t id) {
    const auto found = in_flight.find(id);
    if (found == in_flight.end()) return;
    if (!std::ranges::equal(found->second.where, found->second.as_pushed)) ++broken_rules;
    in_flight.erase(found);
  }

  info_type info_;
  std::uint64_t clock_ = 0;
  std::uint64_t pushes_ = 0;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> clocks_applied_;  // per table
  std::vector<std::vector<float>> values_;
};

}  // namespace tidegate::examples
