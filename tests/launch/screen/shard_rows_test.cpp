#include "launch/screen/shard_rows.hpp"

#include <string>

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string shard_json(int number, double busy, double last, double late) {
  return R"({"shard":)" + std::to_string(number) + R"(,"busy":)" + std::to_string(busy) +
         R"(,"answers_last":)" + std::to_string(last) + R"(,"late_seconds":)" +
         std::to_string(late) +
         R"(,"stopped":0.02,"starved":0.25,"bytes_in_per_second":2048,"bytes_out_per_second":5,)" +
         R"("resident_bytes":1048576,"pushes_held":3})";
}

// A job whose workers, so many, wait for shard 1.
std::string slow_shard(int workers, int shards) {
  std::string members;
  for (int rank = 0; rank < workers; ++rank)
    members += (rank == 0 ? "" : ",") + (R"({"joined":true,"rank":)" + std::to_string(rank)) +
               R"(,"waits":0.9,"computes":0.1})";
  std::string all;
  for (int shard = 0; shard < shards; ++shard)
    all += (shard == 0 ? "" : ",") +
           shard_json(shard, shard == 1 ? 0.75 : 0.5, shard == 1 ? 0.97 : 0, shard * 0.0123);
  return R"({"cluster":"c","state":"running","jobs":[{"name":"mlp","state":"running","members":[)" +
         members + R"(],"shards":[)" + all + "]}]}";
}

std::vector<std::string> texts(const std::vector<styled_line>& lines) {
  std::vector<std::string> all;
  for (const auto& line : lines) all.push_back(plain_text(line));
  return all;
}

std::vector<std::string> screen_of(const run_content& content, screen_size screen) {
  const auto lines = run_lines(content, screen);
  EXPECT_TRUE(lines);
  return texts(*lines);
}

std::vector<std::string> table(const std::vector<std::uint64_t>& named, int shards,
                               std::size_t columns, std::size_t rows) {
  const auto status = nlohmann::json::parse(slow_shard(1, shards));
  return texts(shard_lines(shards_of(status, named), columns, rows));
}

TEST(shard_rows, say_how_busy_each_is_and_who_answers_last) {
  EXPECT_THAT(table({1}, 2, 106, 9), ElementsAre("shard   last       late        in/s       "
                                                 "out/s      memory  queue  starved  stopped  "
                                                 "# busy . idle",
                                                 "    0     0%     0.0 ms     2.0 KiB         "
                                                 "5 B     1.0 MiB      3      25%       2%  "
                                                 "##########..........",
                                                 "   *1    97%    11.9 ms     2.0 KiB         "
                                                 "5 B     1.0 MiB      3      25%       2%  "
                                                 "###############....."));
}

TEST(shard_rows, say_where_nothing_is_sent_that_parameters_are_read_in_place) {
  auto rows = shards_of(nlohmann::json::parse(slow_shard(1, 1)), {});
  rows[0].in_place = true;
  EXPECT_THAT(texts(shard_lines(rows, 106, 9))[1], HasSubstr("2.0 KiB    in place"));
  rows[0].in_place = false;
  rows[0].bytes_in = rows[0].bytes_out = 0;
  EXPECT_THAT(texts(shard_lines(rows, 106, 9))[1], HasSubstr("0 B         0 B"));
}

TEST(shard_rows, are_of_all_jobs_that_run) {
  const auto rows =
      shards_of(nlohmann::json::parse(
                    R"({"jobs":[{"state":"running","shards":[)" +
                    shard_json(0, 0.5, 0.1, 0.002) + R"(]},{"state":"running","shards":[)" +
                    shard_json(0, 0.5, 0.5, 0.004) + "," + shard_json(7, 0.25, 0, 0) +
                    R"(]},{"state":"done","shards":[)" + shard_json(9, 1, 1, 1) + "]},3]}"),
                {7, 8});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].shard, 0U);
  EXPECT_EQ(rows[0].last, 0.5) << "of the job that it holds up most";
  EXPECT_EQ(rows[0].late, 0.002) << "a clock, over all clocks";
  EXPECT_EQ(rows[0].pushes_held, 3U);
  EXPECT_FALSE(rows[0].is_named);
  EXPECT_EQ(rows[1].shard, 7U);
  EXPECT_TRUE(rows[1].is_named);
}

TEST(shard_rows, have_replicas_behind_their_shards_where_there_is_room) {
  const auto status = nlohmann::json::parse(
      R"({"jobs":[{"state":"running","shards":[)" + shard_json(0, 0.5, 0.1, 0.002) + "," +
      shard_json(1, 0.5, 0.1, 0.002) +
      R"(],"replicas":[{"process":"replica-0","shard":0,"busy":0.25,"stopped":0.5,"starved":0,)"
      R"("bytes_in_per_second":4096,"resident_bytes":2048}]}]})");
  const auto rows = shards_of(status, {0});
  EXPECT_THAT(texts(shard_lines(rows, 106, 4)),
              ElementsAre(StartsWith("shard"), StartsWith("   *0"),
                          "   0r                       4.0 KiB                 2.0 KiB         "
                          "     0%      50%  "
                          "#####...............",
                          StartsWith("    1")));
  EXPECT_THAT(texts(shard_lines(rows, 106, 3)),
              ElementsAre(StartsWith("shard"), StartsWith("   *0"), StartsWith("    1")));
}

TEST(shard_rows, leave_out_columns_and_rows) {
  EXPECT_EQ(table({}, 2, 22, 9)[2], "    1    97%  ######..");
  EXPECT_THAT(table({1}, 9, 30, 4), ElementsAre(StartsWith("shard"), StartsWith("   *1"),
                                                StartsWith("    0"), "and 7 more shards"));
  EXPECT_THAT(table({}, 9, 30, 2), ElementsAre(StartsWith("shard"), StartsWith("    1")))
      << "the busiest";
  EXPECT_THAT(table({}, 9, 30, 1), ElementsAre());
  EXPECT_THAT(table({}, 0, 30, 9), ElementsAre());
  for (const std::size_t columns : {1, 5, 20, 200})
    for (const std::size_t rows : {0, 1, 2, 3, 9, 10, 50})
      EXPECT_LE(table({1}, 9, columns, rows).size(), rows);
}

TEST(run_lines, shows_shards_below_workers_where_there_is_room) {
  const auto lines = screen_of({.status = slow_shard(4, 2)}, {.columns = 80, .rows = 10});
  EXPECT_THAT(lines[3], StartsWith("    0     0%"));
  EXPECT_THAT(lines[6], StartsWith("    3     0%"));
  EXPECT_THAT(lines[7], StartsWith("shard   last"));
  EXPECT_THAT(lines[9], AllOf(StartsWith("    1    97%"), HasSubstr("##")));
  EXPECT_THAT(screen_of({.status = slow_shard(40, 2)}, {.columns = 80, .rows = 10}),
              Not(Contains(StartsWith("shard"))));
}

TEST(run_lines, has_room_for_a_shard_that_a_job_waits_for) {
  const auto lines =
      screen_of({.status = slow_shard(40, 9), .late_shards = {1}}, {.columns = 80, .rows = 12});
  EXPECT_EQ(lines.size(), 12U);
  EXPECT_THAT(lines[10], StartsWith("shard"));
  EXPECT_THAT(lines[11], StartsWith("   *1    97%"));
  EXPECT_THAT(lines, Contains(StartsWith("    0     0%")));
}

}  // namespace
}  // namespace tidegate::launch
