#include "launch/agents/spans_json.hpp"

#include <cstring>

namespace tidegate::launch {

json spans_json(const policies::agent_reports::spans& report) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(report.all.data());
  return {{"report", "spans"},
          {"question", report.number},
          {"writer", report.writer},
          {"incarnation", report.incarnation},
          {"cut", report.is_cut},
          {"spans",
           json::binary({bytes, bytes + report.all.size() * sizeof(runtime::trace_span)})}};
}

policies::agent_reports::spans spans_of(const json& from) {
  policies::agent_reports::spans of{
      .number = number_of<std::uint32_t>(from, "question"),
      .writer = text_of(from, "writer"),
      .incarnation = number_of<std::uint32_t>(from, "incarnation"),
      .is_cut = from.at("cut").get<bool>()};
  const auto& bytes = from.at("spans").get_binary();
  if (bytes.size() % sizeof(runtime::trace_span) != 0) throw bad_field("spans");
  of.all.resize(bytes.size() / sizeof(runtime::trace_span));
  if (!bytes.empty()) std::memcpy(of.all.data(), bytes.data(), bytes.size());
  return of;
}

}  // namespace tidegate::launch
