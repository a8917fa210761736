#include "launch/monitor/exposition.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

std::string two_families(exposition_format format) {
  exposition text(format);
  text.family("tidegate_clock", metric_kind::gauge, "Clocks that the \"worker\" has ended");
  text.sample({{"job", "a\"b\\c\nd"}, {"rank", "0"}}, 7);
  text.sample({}, 0.25);
  text.family("tidegate_samples", metric_kind::counter, "Samples");
  text.sample({{"job", "m"}}, 12345678901.0);
  return text.finish();
}

TEST(exposition, is_prometheus_text) {
  EXPECT_EQ(two_families(exposition_format::prometheus),
            "# HELP tidegate_clock Clocks that the \"worker\" has ended\n"
            "# TYPE tidegate_clock gauge\n"
            "tidegate_clock{job=\"a\\\"b\\\\c\\nd\",rank=\"0\"} 7\n"
            "tidegate_clock 0.25\n"
            "# HELP tidegate_samples_total Samples\n"
            "# TYPE tidegate_samples_total counter\n"
            "tidegate_samples_total{job=\"m\"} 12345678901\n");
}

TEST(exposition, is_openmetrics) {
  EXPECT_EQ(two_families(exposition_format::openmetrics),
            "# HELP tidegate_clock Clocks that the \\\"worker\\\" has ended\n"
            "# TYPE tidegate_clock gauge\n"
            "tidegate_clock{job=\"a\\\"b\\\\c\\nd\",rank=\"0\"} 7\n"
            "tidegate_clock 0.25\n"
            "# HELP tidegate_samples Samples\n"
            "# TYPE tidegate_samples counter\n"
            "tidegate_samples_total{job=\"m\"} 12345678901\n"
            "# EOF\n");
}

TEST(exposition, marks_what_only_informs) {
  const auto text_in = [](exposition_format format) {
    exposition text(format);
    text.family("x", metric_kind::info, "X");
    text.sample({{"of",
                  "a\xff"
                  "b"}},
                1);
    return text.finish();
  };
  EXPECT_EQ(text_in(exposition_format::prometheus),
            "# HELP x_info X\n# TYPE x_info gauge\nx_info{of=\"a\xEF\xBF\xBD"
            "b\"} 1\n");
  EXPECT_EQ(text_in(exposition_format::openmetrics),
            "# HELP x X\n# TYPE x info\nx_info{of=\"a\xEF\xBF\xBD"
            "b\"} 1\n# EOF\n");
}

TEST(exposition, writes_values_that_are_not_finite) {
  exposition text(exposition_format::prometheus);
  text.family("x", metric_kind::gauge, "X");
  text.sample({}, std::nan(""));
  text.sample({}, std::numeric_limits<double>::infinity());
  text.sample({}, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.finish(), "# HELP x X\n# TYPE x gauge\nx NaN\nx +Inf\nx -Inf\n");
}

TEST(exposition, is_what_a_scraper_asks_for) {
  EXPECT_EQ(wanted_format(""), exposition_format::prometheus);
  EXPECT_EQ(wanted_format("text/plain;version=0.0.4"), exposition_format::prometheus);
  EXPECT_EQ(wanted_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            exposition_format::openmetrics);
}

}  // namespace
}  // namespace tidegate::launch
