#include "launch/agents/agent_text.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

using policies::agent_frame;
using policies::launched_process;
using policies::launcher_frame;
using policies::process_exit;
using policies::process_role;
using policies::process_signal;
namespace orders = policies::agent_orders;
namespace reports = policies::agent_reports;

constexpr launched_process somebody{7, 3};

policies::state_image some_state() {
  return {.epoch = 3,
          .has_history = true,
          .known_from = policies::state_image::never,
          .begun = 5,
          .versions = {{.number = 8, .clock = 40, .checksum = 1, .bytes = {}},
                       {.number = 9,
                        .clock = 41,
                        .checksum = policies::state_image::never,
                        .bytes = {std::byte{0}, std::byte{0xff}, std::byte{'\n'}}}}};
}

std::vector<policies::agent_order> all_orders() {
  return {orders::start{.process = somebody,
                        .name = {.role = process_role::worker, .job = "mlp", .index = 9},
                        .epoch = 2,
                        .joins = true,
                        .moved = true,
                        .state = some_state(),
                        .spare = 4,
                        .coordinator_port = 4711},
          orders::start_spare{.spare = 5, .job = "mlp", .rank = 6, .copy_of = 4},
          orders::end_spare{.spare = 5},
          orders::signal{.process = somebody, .content = process_signal::terminate},
          orders::signal{.process = somebody, .content = process_signal::kill},
          orders::signal{.process = somebody, .content = process_signal::stop},
          orders::signal{.process = somebody, .content = process_signal::go_on},
          orders::state_mirrored{.process = somebody, .number = 12},
          orders::survey{.number = 3,
                         .step = policies::survey_step::reach,
                         .peers = {{.host = 2, .port = 4712}, {.host = 5, .port = 80}}},
          orders::survey{.number = 4, .step = policies::survey_step::listen},
          orders::survey{.number = 4, .step = policies::survey_step::end},
          orders::tell_spans{.number = 3, .most = 1000},
          orders::leave{}};
}

std::vector<policies::agent_report> all_reports() {
  return {
      reports::started{.process = somebody, .pid = 99, .started_at = 5, .was_spare = true},
      reports::not_started{.process = somebody, .why = "no memory"},
      reports::ended{.process = somebody,
                     .exit = {process_exit::ending::bad_status, "it ended"}},
      reports::hangs{.process = somebody, .silent_ns = 17},
      reports::listens{.process = somebody, .port = 80, .unusable = "it does not"},
      reports::spare_ready{.spare = 3, .can_copy = true},
      reports::spare_ended{.spare = 3, .why = "it was killed"},
      reports::logged{.writer = "worker-mlp-9", .text = "a line\n"},
      reports::state{.process = somebody, .number = 12, .image = some_state()},
      reports::surveyed{.number = 3,
                        .step = policies::survey_step::listen,
                        .port = 4712,
                        .why = "not its address"},
      reports::surveyed{.number = 3,
                        .step = policies::survey_step::reach,
                        .unreached = {{.host = 2, .why = "no answer"}}},
      reports::spans{.number = 3,
                     .writer = "worker-mlp-9",
                     .incarnation = 2,
                     .all = {{.begin_ns = 1, .end_ns = 2, .clock = 3}, {.detail = 4}}},
      reports::noted{.subject = "spare_passed_over", .detail = "spare 3", .is_warning = true}};
}

// What is read is written as it was; so a field that gets lost on the way shows where it has
// another value than it begins with.
TEST(agent_text, reads_every_frame_as_it_was_written) {
  constexpr auto large = std::numeric_limits<std::uint64_t>::max();
  std::vector<launcher_frame> from_launcher{{1, launcher_frame::welcome{large}},
                                            {2, launcher_frame::dismissal{}},
                                            {large, launcher_frame::sign{}}};
  for (const auto& order : all_orders())
    from_launcher.push_back({3, launcher_frame::order{.number = large, .content = order}});
  for (const auto& frame : from_launcher) {
    const auto text = frame_text(frame);
    const auto read = parse_launcher_frame(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message();
    EXPECT_EQ(read->content.index(), frame.content.index()) << text;
    EXPECT_EQ(frame_text(*read), text);
  }
  std::vector<agent_frame> from_agent{
      {1, agent_frame::hello{.agent = large, .start = 2, .launcher = 3}},
      {large, agent_frame::sign{}}};
  for (const auto& report : all_reports())
    from_agent.push_back({4, agent_frame::report{.number = large, .content = report}});
  for (const auto& frame : from_agent) {
    const auto text = frame_text(frame);
    const auto read = parse_agent_frame(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message();
    EXPECT_EQ(read->content.index(), frame.content.index()) << text;
    EXPECT_EQ(frame_text(*read), text);
  }
  EXPECT_EQ(parse_greeting(greeting_text("blue")).value(), "blue");
}

TEST(agent_text, has_spans_as_they_were) {
  const policies::agent_reports::spans sent{
      .number = 3,
      .writer = "a",
      .is_cut = true,
      .all = {{.begin_ns = -1, .clock = 7, .detail = 9}, {}}};
  const auto frame = parse_agent_frame(
      frame_text(agent_frame{1, agent_frame::report{.number = 1, .content = sent}}));
  ASSERT_TRUE(frame);
  const auto& report = std::get<agent_frame::report>(frame->content);
  EXPECT_EQ(std::get<reports::spans>(report.content).all, sent.all);
  EXPECT_TRUE(std::get<reports::spans>(report.content).is_cut);
  auto cut = nlohmann::json::from_cbor(
      frame_text(agent_frame{1, agent_frame::report{.number = 1, .content = sent}}));
  cut["spans"] = nlohmann::json::binary({1, 2, 3});
  std::string text;
  nlohmann::json::to_cbor(cut, text);
  EXPECT_FALSE(parse_agent_frame(text)) << "a part of a span";
}

TEST(agent_text, has_every_field_of_an_order_to_start) {
  const auto text = frame_text(launcher_frame{
      .taken = 1, .content = launcher_frame::order{.number = 2, .content = all_orders()[0]}});
  auto read = nlohmann::json::from_cbor(text);
  EXPECT_EQ(read.at("state").at("versions").at(1).at("bytes"),
            nlohmann::json::binary({0, 0xff, '\n'}));
  read.erase("state");
  EXPECT_EQ(read, (nlohmann::json{{"taken", 1},
                                  {"kind", "order"},
                                  {"number", 2},
                                  {"order", "start"},
                                  {"process", 7},
                                  {"incarnation", 3},
                                  {"role", "worker"},
                                  {"job", "mlp"},
                                  {"index", 9},
                                  {"epoch", 2},
                                  {"joins", true},
                                  {"moved", true},
                                  {"spare", 4},
                                  {"coordinator_port", 4711}}));
}

std::string frame_of(const char* fields) {
  std::string text;
  nlohmann::json::to_cbor(nlohmann::json::parse(fields), text);
  return text;
}

TEST(agent_text, takes_nothing_else) {
  for (
      const auto* fields :
      {"[]", "1", "{}", R"({"taken": 0})", R"({"taken": -1, "kind": "sign"})",
       R"({"taken": 0, "kind": "no"})", R"({"taken": 0, "kind": 5})",
       R"({"taken": 0, "kind": "order", "number": 1})",
       R"({"taken": 0, "kind": "order", "number": 1, "order": "end_spare", "spare": 4294967296})",
       R"({"taken": 0, "kind": "order", "number": 1, "order": "signal", "process": 1,
            "incarnation": 1, "signal": "hup"})"}) {
    const auto read = parse_launcher_frame(frame_of(fields));
    EXPECT_FALSE(read) << fields;
    EXPECT_TRUE(read || read.error().code() == runtime::errc::corrupt) << fields;
  }
  for (const auto* fields : {"{}", R"({"taken": 0, "kind": "welcome", "launcher": 1})",
                             R"({"taken": 0, "kind": "report", "number": 1, "report": "ended",
                               "process": 1, "incarnation": 1, "ending": "odd", "text": ""})",
                             R"({"taken": 0, "kind": "report", "number": 1, "report": "state",
                               "process": 1, "incarnation": 1, "request": 1, "image": {}})"})
    EXPECT_FALSE(parse_agent_frame(frame_of(fields))) << fields;
  EXPECT_FALSE(parse_greeting(frame_of("{}")));
  EXPECT_FALSE(parse_greeting(frame_of(R"({"host": 1})")));
}

TEST(agent_text, takes_no_frame_that_is_cut_off_or_goes_on) {
  const auto whole = frame_text(launcher_frame{
      .taken = 1, .content = launcher_frame::order{.number = 2, .content = all_orders()[0]}});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE(parse_launcher_frame(whole.substr(0, bytes))) << bytes;
  EXPECT_FALSE(parse_launcher_frame(whole + "{"));
  EXPECT_FALSE(parse_greeting(R"({"host": "blue"})")) << "it is no CBOR";
}

TEST(agent_text, carries_words_of_programs_that_are_no_utf8) {
  const auto text = frame_text(agent_frame{
      .taken = 0,
      .content = agent_frame::report{
          .number = 1, .content = reports::noted{.subject = "a", .detail = "\xff"}}});
  EXPECT_TRUE(parse_agent_frame(text)) << text;
}

}  // namespace
}  // namespace tidegate::launch
