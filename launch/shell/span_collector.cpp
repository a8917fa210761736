#include "launch/shell/span_collector.hpp"

#include <utility>

namespace tidegate::launch {

void span_collector::want(std::int64_t now, span_request wanted) {
  if (wanted.why == span_request::reason::hang) {
    if (hung_at_ && now < *hung_at_ + pause_ns) return;
    hung_at_ = now;
  }
  wanted_.push_back(std::move(wanted));
}

std::optional<span_request> span_collector::begin(
    const std::set<policies::host_number>& hosts) {
  if (is_under_way_ || wanted_.empty()) return std::nullopt;
  auto next = std::move(wanted_.front());
  wanted_.pop_front();
  ++number_;
  is_under_way_ = true;
  asked_ = hosts;
  return next;
}

bool span_collector::host_done(policies::host_number host) {
  if (!is_under_way_) return false;
  asked_.erase(host);
  if (!asked_.empty()) return false;
  is_under_way_ = false;
  return true;
}

}  // namespace tidegate::launch
