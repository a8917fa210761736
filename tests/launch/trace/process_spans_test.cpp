// Spans go into a file and come back the same; what is no such file is refused with its line.
#include "launch/trace/process_spans.hpp"

#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

constexpr std::int64_t now = 1'700'000'000'000'000'500;

process_spans worker() {
  return {.writer = "worker-a \"b\"-3",
          .incarnation = 2,
          .host = "blue",
          .is_cut = true,
          .spans = {{.begin_ns = 1'700'000'000'000'000'001,
                     .end_ns = 1'700'000'000'000'000'002,
                     .job = std::numeric_limits<std::uint64_t>::max(),
                     .clock = 9,
                     .peer = 4,
                     .table = 0xffff'ffffU,
                     .chunk = 6,
                     .count = 0,
                     .kind = runtime::span_kind::answer,
                     .detail = 11,
                     .extra = 0xffff,
                     .words = 0xffff'ffffU}}};
}

runtime::expected<spans_file> read(const std::string& text) {
  std::istringstream from(text);
  return read_spans(from);
}

TEST(process_spans, come_back_as_they_were) {
  const process_spans idle{.writer = "shard-0"};
  const auto file = read(spans_header("worker-a-0 died", now, {{"a", 3}}) +
                         spans_line(worker()) + spans_line(idle));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->cause, "worker-a-0 died");
  EXPECT_EQ(file->unix_ns, now);
  EXPECT_EQ(file->staleness, (job_staleness{{"a", 3}}));
  EXPECT_EQ(file->processes, (std::vector<process_spans>{worker(), idle}));
}

TEST(process_spans, that_cannot_be_are_left_out) {
  auto of = worker();
  const auto whole = of.spans.front();
  const auto add = [&](auto change) { change(of.spans.emplace_back(whole)); };
  add([](auto& span) { span.begin_ns = std::numeric_limits<std::int64_t>::min(); });
  add([](auto& span) { span.end_ns = std::numeric_limits<std::int64_t>::max(); });
  add([](auto& span) { std::swap(span.begin_ns, span.end_ns); });
  add([](auto& span) { span.kind = runtime::span_kind{0}; });
  add([](auto& span) { span.kind = runtime::span_kind{200}; });
  add([](auto& span) { span.begin_ns = 17; });
  const auto file = read(spans_header("", now, {}) + spans_line(of));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->processes, std::vector<process_spans>{worker()});
}

TEST(process_spans, of_another_file_are_refused) {
  const auto head = spans_header("asked", 1, {});
  const auto problem = [](const std::string& text) {
    const auto file = read(text);
    return file ? std::string() : file.error().message();
  };
  EXPECT_EQ(problem(""), "the file is empty");
  EXPECT_EQ(problem("{\"a\":1}\n"), "line 1: this is no file of spans");
  EXPECT_EQ(problem("{\"tidegate_spans\":9}\n"),
            "line 1: it is of version 9; this Tidegate reads " + std::to_string(spans_version));
  for (const auto* line : {"", "[]", "{\"writer\":\"a\",\"spans\":[[1]]}",
                           "{\"writer\":\"a\",\"spans\":[[1,2,3,4,5,6,7,8,9,10,11,\"x\"]]}",
                           "{\"spans\":[]}", "{\"writer\":\"a\",\"spans\":[1"})
    EXPECT_EQ(problem(head + line + "\n"), "line 2: it holds no spans of a process") << line;
}

}  // namespace
}  // namespace tidegate::launch
