// Collects what processes of all hosts have noted of what they did: one collection at a time,
// others wait for their turn. Pure; one thread. Time is an argument, in nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

// Why spans are collected.
struct span_request {
  enum class reason : std::uint8_t { asked, job_failed, hang, run_ended };
  reason why = reason::asked;
  std::string detail = {};  // for people
  std::string job = {};     // that has failed
  std::uint32_t asker = 0;  // of `asked`
  bool follows = false;     // whoever asks wants what was noted at the end of the run, too
};

class span_collector {
 public:
  // Hangs come again and again, and are collected so often at most.
  static constexpr std::int64_t pause_ns = 10'000'000'000;

  void want(std::int64_t now, span_request wanted);
  // Returns the next request, where none is under way: the caller orders those hosts to tell,
  // which answer with this number, and calls take() and lost().
  std::optional<span_request> begin(const std::set<policies::host_number>& hosts);
  std::uint32_t number() const noexcept { return number_; }
  // Returns true if the report belongs to the collection that is under way.
  bool expects(policies::host_number host, const policies::agent_reports::spans& report) const {
    return report.number == number_ && asked_.contains(host);
  }
  // The host tells no more: it has told all, or is lost. Returns true if the collection is
  // over.
  bool host_done(policies::host_number host);
  bool is_under_way() const noexcept { return is_under_way_; }

 private:
  std::deque<span_request> wanted_;
  std::optional<std::int64_t> hung_at_;
  std::uint32_t number_ = 0;
  bool is_under_way_ = false;
  std::set<policies::host_number> asked_;  // that have not told all
};

}  // namespace tidegate::launch
