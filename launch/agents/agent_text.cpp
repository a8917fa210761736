#include "launch/agents/agent_text.hpp"

#include <utility>

#include "launch/agents/frame_fields.hpp"
#include "launch/agents/spans_json.hpp"
#include "launch/agents/state_image_json.hpp"
#include "launch/agents/survey_json.hpp"

namespace tidegate::launch {

namespace {

using policies::agent_frame;
using policies::launched_process;
using policies::launcher_frame;
using policies::process_exit;
using policies::process_signal;
namespace orders = policies::agent_orders;
namespace reports = policies::agent_reports;

constexpr std::pair<process_signal, const char*> signal_words[] = {
    {process_signal::terminate, "terminate"},
    {process_signal::kill, "kill"},
    {process_signal::stop, "stop"},
    {process_signal::go_on, "go_on"}};
constexpr std::pair<process_exit::ending, const char*> ending_words[] = {
    {process_exit::ending::clean, "clean"},
    {process_exit::ending::bad_status, "bad_status"},
    {process_exit::ending::by_signal, "by_signal"}};

template <class Value, std::size_t Count>
const char* word_of(const std::pair<Value, const char*> (&words)[Count], Value value) {
  for (const auto& [known, word] : words)
    if (known == value) return word;
  return "";
}

template <class Value, std::size_t Count>
Value value_of(const std::pair<Value, const char*> (&words)[Count], const json& from) {
  for (const auto& [value, word] : words)
    if (from == word) return value;
  throw bad_field("no such word");
}

void put(json& into, const launched_process& process) {
  into["process"] = process.process;
  into["incarnation"] = process.incarnation;
}

launched_process process_of(const json& from) {
  return {number_of<policies::process_number>(from, "process"),
          number_of<std::uint32_t>(from, "incarnation")};
}

// Orders.

json to_json(const orders::start& order) {
  json all{{"order", "start"}};
  put(all, order.process);
  all["role"] = to_string(order.name.role);
  all["job"] = order.name.job;
  all["index"] = order.name.index;
  all["epoch"] = order.epoch;
  all["joins"] = order.joins;
  all["moved"] = order.moved;
  all["state"] = order.state ? image_json(*order.state) : json();
  all["spare"] = order.spare;
  all["coordinator_port"] = order.coordinator_port;
  return all;
}

json to_json(const orders::start_spare& order) {
  return {{"order", "start_spare"},
          {"spare", order.spare},
          {"job", order.job},
          {"rank", order.rank},
          {"copy_of", order.copy_of}};
}

json to_json(const orders::end_spare& order) {
  return {{"order", "end_spare"}, {"spare", order.spare}};
}

json to_json(const orders::signal& order) {
  json all{{"order", "signal"}};
  put(all, order.process);
  all["signal"] = word_of(signal_words, order.content);
  return all;
}

json to_json(const orders::state_mirrored& order) {
  json all{{"order", "state_mirrored"}};
  put(all, order.process);
  all["request"] = order.number;
  return all;
}

json to_json(const orders::survey& order) {
  auto all = survey_json(order);
  all["order"] = "survey";
  return all;
}

json to_json(const orders::tell_spans& order) {
  return {{"order", "tell_spans"}, {"question", order.number}, {"most", order.most}};
}

json to_json(const orders::leave&) {
  return {{"order", "leave"}};
}

orders::start start_of(const json& from) {
  const auto role = policies::role_of(text_of(from, "role"));
  if (!role) throw bad_field("role");
  std::optional<policies::state_image> state;
  if (const auto& image = from.at("state"); !image.is_null()) state = image_of(image);
  return {.process = process_of(from),
          .name = {.role = *role,
                   .job = text_of(from, "job"),
                   .index = number_of<std::uint32_t>(from, "index")},
          .epoch = number_of<std::uint32_t>(from, "epoch"),
          .joins = flag_of(from, "joins"),
          .moved = flag_of(from, "moved"),
          .state = std::move(state),
          .spare = number_of<policies::spare_number>(from, "spare"),
          .coordinator_port = number_of<std::uint16_t>(from, "coordinator_port")};
}

policies::agent_order order_of(const json& from) {
  const auto kind = text_of(from, "order");
  if (kind == "start") return start_of(from);
  if (kind == "start_spare")
    return orders::start_spare{.spare = number_of<policies::spare_number>(from, "spare"),
                               .job = text_of(from, "job"),
                               .rank = number_of<std::uint32_t>(from, "rank"),
                               .copy_of = number_of<policies::spare_number>(from, "copy_of")};
  if (kind == "end_spare")
    return orders::end_spare{number_of<policies::spare_number>(from, "spare")};
  if (kind == "signal")
    return orders::signal{.process = process_of(from),
                          .content = value_of(signal_words, from.at("signal"))};
  if (kind == "state_mirrored")
    return orders::state_mirrored{.process = process_of(from),
                                  .number = number_of<std::uint64_t>(from, "request")};
  if (kind == "survey") return survey_of(from);
  if (kind == "tell_spans")
    return orders::tell_spans{.number = number_of<std::uint32_t>(from, "question"),
                              .most = number_of<std::uint32_t>(from, "most")};
  if (kind == "leave") return orders::leave{};
  throw bad_field("order");
}

// Reports.

json to_json(const reports::started& report) {
  json all{{"report", "started"}};
  put(all, report.process);
  all["pid"] = static_cast<std::uint64_t>(report.pid);
  all["started_at"] = report.started_at;
  all["was_spare"] = report.was_spare;
  return all;
}

json to_json(const reports::not_started& report) {
  json all{{"report", "not_started"}};
  put(all, report.process);
  all["why"] = report.why;
  return all;
}

json to_json(const reports::ended& report) {
  json all{{"report", "ended"}};
  put(all, report.process);
  all["ending"] = word_of(ending_words, report.exit.kind);
  all["text"] = report.exit.text;
  return all;
}

json to_json(const reports::hangs& report) {
  json all{{"report", "hangs"}};
  put(all, report.process);
  all["silent_ns"] = static_cast<std::uint64_t>(report.silent_ns);
  return all;
}

json to_json(const reports::listens& report) {
  json all{{"report", "listens"}};
  put(all, report.process);
  all["port"] = report.port;
  all["unusable"] = report.unusable;
  return all;
}

json to_json(const reports::spare_ready& report) {
  return {{"report", "spare_ready"}, {"spare", report.spare}, {"can_copy", report.can_copy}};
}

json to_json(const reports::spare_ended& report) {
  return {{"report", "spare_ended"}, {"spare", report.spare}, {"why", report.why}};
}

json to_json(const reports::logged& report) {
  return {{"report", "logged"}, {"writer", report.writer}, {"text", report.text}};
}

json to_json(const reports::state& report) {
  json all{{"report", "state"}};
  put(all, report.process);
  all["request"] = report.number;
  all["image"] = image_json(report.image);
  return all;
}

json to_json(const reports::surveyed& report) {
  auto all = survey_json(report);
  all["report"] = "surveyed";
  return all;
}

json to_json(const reports::spans& report) {
  auto all = spans_json(report);
  all["report"] = "spans";
  return all;
}

json to_json(const reports::noted& report) {
  return {{"report", "noted"},
          {"subject", report.subject},
          {"detail", report.detail},
          {"is_warning", report.is_warning}};
}

policies::agent_report report_of(const json& from) {
  const auto kind = text_of(from, "report");
  if (kind == "started")
    return reports::started{.process = process_of(from),
                            .pid = number_of<std::int64_t>(from, "pid"),
                            .started_at = number_of<std::uint64_t>(from, "started_at"),
                            .was_spare = flag_of(from, "was_spare")};
  if (kind == "not_started")
    return reports::not_started{.process = process_of(from), .why = text_of(from, "why")};
  if (kind == "ended")
    return reports::ended{.process = process_of(from),
                          .exit = {.kind = value_of(ending_words, from.at("ending")),
                                   .text = text_of(from, "text")}};
  if (kind == "hangs")
    return reports::hangs{.process = process_of(from),
                          .silent_ns = number_of<std::int64_t>(from, "silent_ns")};
  if (kind == "listens")
    return reports::listens{.process = process_of(from),
                            .port = number_of<std::uint16_t>(from, "port"),
                            .unusable = text_of(from, "unusable")};
  if (kind == "spare_ready")
    return reports::spare_ready{.spare = number_of<policies::spare_number>(from, "spare"),
                                .can_copy = flag_of(from, "can_copy")};
  if (kind == "spare_ended")
    return reports::spare_ended{.spare = number_of<policies::spare_number>(from, "spare"),
                                .why = text_of(from, "why")};
  if (kind == "logged")
    return reports::logged{.writer = text_of(from, "writer"), .text = text_of(from, "text")};
  if (kind == "state")
    return reports::state{.process = process_of(from),
                          .number = number_of<std::uint64_t>(from, "request"),
                          .image = image_of(from.at("image"))};
  if (kind == "surveyed") return surveyed_of(from);
  if (kind == "spans") return spans_of(from);
  if (kind == "noted")
    return reports::noted{.subject = text_of(from, "subject"),
                          .detail = text_of(from, "detail"),
                          .is_warning = flag_of(from, "is_warning")};
  throw bad_field("report");
}

// Frames.

json to_json(const agent_frame::hello& hello) {
  return {{"kind", "hello"},
          {"agent", hello.agent},
          {"start", hello.start},
          {"launcher", hello.launcher}};
}

json to_json(const agent_frame::report& report) {
  auto all = std::visit([](const auto& content) { return to_json(content); }, report.content);
  all["kind"] = "report";
  all["number"] = report.number;
  return all;
}

json to_json(const agent_frame::sign&) {
  return {{"kind", "sign"}};
}

json to_json(const launcher_frame::welcome& welcome) {
  return {{"kind", "welcome"}, {"launcher", welcome.launcher}};
}

json to_json(const launcher_frame::dismissal&) {
  return {{"kind", "dismissal"}};
}

json to_json(const launcher_frame::order& order) {
  auto all = std::visit([](const auto& content) { return to_json(content); }, order.content);
  all["kind"] = "order";
  all["number"] = order.number;
  return all;
}

json to_json(const launcher_frame::sign&) {
  return {{"kind", "sign"}};
}

std::string to_text(const json& all) {
  std::string text;
  json::to_cbor(all, text);
  return text;
}

template <class Frame>
std::string text_of_frame(const Frame& frame) {
  auto all = std::visit([](const auto& content) { return to_json(content); }, frame.content);
  all["taken"] = frame.taken;
  return to_text(all);
}

decltype(agent_frame::content) content_of_agent(const json& from) {
  const auto kind = text_of(from, "kind");
  if (kind == "hello")
    return agent_frame::hello{.agent = number_of<std::uint64_t>(from, "agent"),
                              .start = number_of<std::uint64_t>(from, "start"),
                              .launcher = number_of<std::uint64_t>(from, "launcher")};
  if (kind == "report")
    return agent_frame::report{.number = number_of<std::uint64_t>(from, "number"),
                               .content = report_of(from)};
  if (kind == "sign") return agent_frame::sign{};
  throw bad_field("kind");
}

decltype(launcher_frame::content) content_of_launcher(const json& from) {
  const auto kind = text_of(from, "kind");
  if (kind == "welcome")
    return launcher_frame::welcome{.launcher = number_of<std::uint64_t>(from, "launcher")};
  if (kind == "dismissal") return launcher_frame::dismissal{};
  if (kind == "order")
    return launcher_frame::order{.number = number_of<std::uint64_t>(from, "number"),
                                 .content = order_of(from)};
  if (kind == "sign") return launcher_frame::sign{};
  throw bad_field("kind");
}

template <class Read>
auto parse(std::string_view text, const Read& read)
    -> runtime::expected<decltype(read(json()))> {
  try {
    return read(json::from_cbor(text));
  } catch (const std::exception& why) {
    return runtime::fail(runtime::errc::corrupt,
                         std::string("no frame of an agent or its launcher: ") + why.what());
  }
}

}  // namespace

std::string greeting_text(const std::string& host) {
  return to_text(json{{"host", host}});
}

std::string frame_text(const agent_frame& frame) {
  return text_of_frame(frame);
}

std::string frame_text(const launcher_frame& frame) {
  return text_of_frame(frame);
}

runtime::expected<std::string> parse_greeting(std::string_view text) {
  return parse(text, [](const json& from) { return text_of(from, "host"); });
}

runtime::expected<agent_frame> parse_agent_frame(std::string_view text) {
  return parse(text, [](const json& from) {
    return agent_frame{.taken = number_of<std::uint64_t>(from, "taken"),
                       .content = content_of_agent(from)};
  });
}

runtime::expected<launcher_frame> parse_launcher_frame(std::string_view text) {
  return parse(text, [](const json& from) {
    return launcher_frame{.taken = number_of<std::uint64_t>(from, "taken"),
                          .content = content_of_launcher(from)};
  });
}

}  // namespace tidegate::launch
