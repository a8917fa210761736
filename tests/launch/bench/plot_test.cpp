#include "launch/bench/plot.hpp"

#include <cmath>

#include <gmock/gmock.h>

namespace tidegate::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(plot, has_a_line_a_dot_per_point_and_a_name_per_series) {
  const auto svg = plot_svg({"the title",
                             {{"ours", {{4096, 1e-5}, {65536, 2e-4}, {1 << 20, 3e-3}}},
                              {"theirs", {{4096, 3e-5}, {65536, 8e-4}}}}});
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 5U);
  for (const auto* text : {"the title", "ours", "theirs", "4KiB", "1MiB", "10 us", "10 ms"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(plot, escapes_names_and_leaves_out_what_has_no_logarithm) {
  const auto svg =
      plot_svg({"<&>", {{"a\"b\n", {{0, 1}, {4, 0}, {4, NAN}, {INFINITY, 1}, {4, 1}}}}});
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("a&quot;b "));
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(plot, of_nothing_is_a_picture_too) {
  for (const plot_data& data : {plot_data{}, plot_data{"t", {{"empty", {}}}}}) {
    const auto svg = plot_svg(data);
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
}

TEST(plot, has_the_units_of_its_axes) {
  plot_data data{"t", {{"a", {{10, 1000}, {1000, 100'000}}}}};
  data.x_unit = data.y_unit = plot_unit::number;
  data.x_name = "workers";
  const auto svg = plot_svg(data);
  for (const auto* text : {">100<", ">10000<", ">workers<"}) EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr("KiB")));
}

TEST(plot, reads_series) {
  const auto data =
      parse_plot(R"({"title": "t", "series": [{"name": "a", "points": [[4, 0.5], [8, 1]]}]})");
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->title, "t");
  ASSERT_EQ(data->series.size(), 1U);
  EXPECT_EQ(data->series[0].name, "a");
  EXPECT_EQ(data->series[0].points[1].x, 8);
  EXPECT_EQ(data->series[0].points[0].y, 0.5);
}

TEST(plot, refuses_what_is_no_list_of_series) {
  for (const auto* text :
       {"", "[]", "{}", R"({"series": 1})", R"({"series": [1]})",
        R"({"series": [{"name": 1, "points": []}]})", R"({"series": [{"name": "a"}]})",
        R"({"series": [{"name": "a", "points": [[1]]}]})",
        R"({"series": [{"name": "a", "points": [["1", 2]]}]})"})
    EXPECT_FALSE(parse_plot(text)) << text;
}

}  // namespace
}  // namespace tidegate::bench
