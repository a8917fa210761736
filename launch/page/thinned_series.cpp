#include "launch/page/thinned_series.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::launch {

namespace {

// So that ranks do not change with each line, and everything is sent anew.
constexpr std::size_t ranks_pause_points = 16;

void merge_worker(worker_share& to, const worker_share& more) {
  to.clock = more.clock;
  to.seconds += more.seconds;
  to.clocks += more.clocks;
  to.computes += more.computes;
  to.calls += more.calls;
  to.waits += more.waits;
  to.seen += more.seen;
  to.late += more.late;
  to.last += more.last;
}

void merge_workers(std::vector<worker_share>& to, const std::vector<worker_share>& more) {
  std::vector<worker_share> all;
  all.reserve(to.size() + more.size());
  auto left = to.begin();
  for (const auto& right : more) {
    while (left != to.end() && left->rank < right.rank) all.push_back(*left++);
    if (left != to.end() && left->rank == right.rank) {
      all.push_back(*left++);
      merge_worker(all.back(), right);
    } else {
      all.push_back(right);
    }
  }
  all.insert(all.end(), left, to.end());
  to = std::move(all);
}

}  // namespace

void keep_latest(series_point& point) {
  constexpr auto most = series_point::workers_most;
  if (point.workers.size() <= most) return;
  const auto end = point.workers.begin() + most;
  std::nth_element(
      point.workers.begin(), end, point.workers.end(),
      [](const worker_share& a, const worker_share& b) { return a.late > b.late; });
  point.workers.erase(end, point.workers.end());
  std::sort(point.workers.begin(), point.workers.end(),
            [](const worker_share& a, const worker_share& b) { return a.rank < b.rank; });
}

void merge(series_point& to, const series_point& more) {
  to.end_ms = more.end_ms;
  to.seconds += more.seconds;
  to.lines += more.lines;
  to.slowest = more.slowest;
  to.median = more.median;
  to.fastest = more.fastest;
  to.clocks += more.clocks;
  to.samples += more.samples;
  to.known += more.known;
  to.computes += more.computes;
  to.calls += more.calls;
  to.waits += more.waits;
  to.waits_low += more.waits_low;
  to.waits_high += more.waits_high;
  to.staleness = more.staleness;
  if (more.loss) to.loss = more.loss;
  for (const auto& [name, value] : more.metrics) to.metrics[name] = value;
  to.workers_count = std::max(to.workers_count, more.workers_count);
  merge_workers(to.workers, more.workers);
  keep_latest(to);
}

void thinned_series::add(series_point point) {
  keep_latest(point);
  if (!points_.empty() && points_.back().lines < lines_per_point_) {
    merge(points_.back(), point);
    return;
  }
  points_.push_back(std::move(point));
  if (points_.size() >= most_) {
    for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
      merge(points_[i], points_[i + 1]);
      if (i > 0) points_[i / 2] = std::move(points_[i]);
    }
    points_.resize(points_.size() / 2);
    lines_per_point_ *= 2;
    ++generation_;
    chosen_after_ = 0;
  }
  choose_ranks();
}

void thinned_series::choose_ranks() {
  const bool has_all = points_.back().workers_count <= ranks_most;
  const bool is_due =
      chosen_after_ == 0 || points_.size() >= chosen_after_ + ranks_pause_points;
  if (!has_all && !is_due && !ranks_.empty()) return;
  chosen_after_ = points_.size();
  std::map<std::uint32_t, double> late;
  for (const auto& point : points_)
    for (const auto& worker : point.workers) late[worker.rank] += worker.late;
  std::vector<std::pair<double, std::uint32_t>> order;
  order.reserve(late.size());
  for (const auto& [rank, seconds] : late) order.emplace_back(-seconds, rank);
  std::sort(order.begin(), order.end());
  if (order.size() > ranks_most) order.resize(ranks_most);
  std::vector<std::uint32_t> chosen;
  for (const auto& [seconds, rank] : order) chosen.push_back(rank);
  std::sort(chosen.begin(), chosen.end());
  if (chosen == ranks_) return;
  ranks_ = std::move(chosen);
  ++generation_;
}

}  // namespace tidegate::launch
