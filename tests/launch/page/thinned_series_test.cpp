#include "launch/page/thinned_series.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::ElementsAre;

// The second that begins at this one, in which each worker goes ten clocks.
series_point second_from(std::int64_t begin, std::size_t workers, std::uint32_t slow) {
  series_point point{.begin_ms = begin * 1000, .end_ms = begin * 1000 + 1000, .seconds = 1};
  point.slowest = static_cast<std::uint64_t>(begin) * 10;
  point.clocks = 10;
  point.samples = 640;
  point.workers_count = workers;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    point.workers.push_back({.rank = rank,
                             .clock = point.slowest,
                             .seconds = 1,
                             .clocks = 10,
                             .late = rank == slow ? 0.3 : 0.001 * rank / 1000});
  return point;
}

TEST(thinned_series, keeps_all_of_a_short_run) {
  thinned_series series(8);
  for (std::int64_t i = 0; i < 7; ++i) series.add(second_from(i, 2, 1));
  ASSERT_EQ(series.points().size(), 7U);
  EXPECT_EQ(series.points()[6].begin_ms, 6000);
  EXPECT_THAT(series.ranks(), ElementsAre(0, 1));
}

TEST(thinned_series, merges_neighbours_of_a_long_run_and_loses_no_second) {
  thinned_series series(8);
  std::vector<std::uint64_t> generations;
  for (std::int64_t i = 0; i < 1000; ++i) {
    series.add(second_from(i, 2, 1));
    generations.push_back(series.generation());
    ASSERT_LT(series.points().size(), 8U);
  }
  EXPECT_TRUE(std::is_sorted(generations.begin(), generations.end()));
  double seconds = 0, samples = 0, late = 0;
  std::int64_t end = 0;
  for (const auto& point : series.points()) {
    EXPECT_EQ(point.begin_ms, end);
    end = point.end_ms;
    seconds += point.seconds;
    samples += point.samples;
    late += point.workers.back().late;
    EXPECT_EQ(point.slowest, static_cast<std::uint64_t>(point.end_ms / 1000 - 1) * 10);
  }
  EXPECT_EQ(end, 1'000'000);
  EXPECT_DOUBLE_EQ(seconds, 1000);
  EXPECT_DOUBLE_EQ(samples, 640'000);
  EXPECT_NEAR(late, 300, 1e-6);
}

TEST(thinned_series, keeps_of_many_workers_those_that_are_late) {
  thinned_series series(8);
  for (std::int64_t i = 0; i < 100; ++i) series.add(second_from(i, 200, 17));
  for (const auto& point : series.points()) {
    EXPECT_EQ(point.workers_count, 200U);
    EXPECT_LE(point.workers.size(), series_point::workers_most);
    EXPECT_TRUE(std::any_of(point.workers.begin(), point.workers.end(),
                            [](const worker_share& of) { return of.rank == 17; }));
  }
  EXPECT_EQ(series.ranks().size(), thinned_series::ranks_most);
  EXPECT_THAT(series.ranks(), testing::Contains(17U));
}

TEST(thinned_series, says_when_points_that_were_sent_have_changed) {
  thinned_series series(8);
  series.add(second_from(0, 2, 1));
  const auto first = series.generation();
  series.add(second_from(1, 2, 1));
  EXPECT_EQ(series.generation(), first);
  series.add(second_from(2, 3, 1));  // a worker more
  EXPECT_GT(series.generation(), first);
}

// What is merged with a point that is not full yet is sent again by its number.
TEST(thinned_series, changes_the_last_point_alone_within_a_generation) {
  thinned_series series(4);
  for (std::int64_t i = 0; i < 4; ++i) series.add(second_from(i, 1, 0));
  const auto generation = series.generation();
  const auto first_end = series.points()[0].end_ms;
  series.add(second_from(4, 1, 0));
  series.add(second_from(5, 1, 0));
  EXPECT_EQ(series.generation(), generation);
  EXPECT_EQ(series.points()[0].end_ms, first_end);
  EXPECT_EQ(series.points()[2].end_ms, 6000);
}

}  // namespace
}  // namespace tidegate::launch
