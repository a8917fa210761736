#include "launch/agents/survey_json.hpp"

#include <utility>

namespace tidegate::launch {

namespace {

using policies::survey_step;

const char* step_word(survey_step step) {
  return step == survey_step::listen ? "listen" : step == survey_step::reach ? "reach" : "end";
}

survey_step step_of(const json& from) {
  const auto word = text_of(from, "step");
  for (const auto step : {survey_step::listen, survey_step::reach, survey_step::end})
    if (word == step_word(step)) return step;
  throw bad_field("step");
}

}  // namespace

json survey_json(const policies::agent_orders::survey& order) {
  json peers = json::array();
  for (const auto& peer : order.peers)
    peers.push_back({{"host", peer.host}, {"port", peer.port}});
  return {
      {"survey", order.number}, {"step", step_word(order.step)}, {"peers", std::move(peers)}};
}

json survey_json(const policies::agent_reports::surveyed& report) {
  json unreached = json::array();
  for (const auto& peer : report.unreached)
    unreached.push_back({{"host", peer.host}, {"why", peer.why}});
  return {{"survey", report.number},
          {"step", step_word(report.step)},
          {"port", report.port},
          {"why", report.why},
          {"unreached", std::move(unreached)}};
}

policies::agent_orders::survey survey_of(const json& from) {
  policies::agent_orders::survey order{.number = number_of<std::uint32_t>(from, "survey"),
                                       .step = step_of(from)};
  for (const auto& peer : from.at("peers"))
    order.peers.push_back({.host = number_of<policies::host_number>(peer, "host"),
                           .port = number_of<std::uint16_t>(peer, "port")});
  return order;
}

policies::agent_reports::surveyed surveyed_of(const json& from) {
  policies::agent_reports::surveyed report{.number = number_of<std::uint32_t>(from, "survey"),
                                           .step = step_of(from),
                                           .port = number_of<std::uint16_t>(from, "port"),
                                           .why = text_of(from, "why")};
  for (const auto& each : from.at("unreached"))
    report.unreached.push_back(
        {.host = number_of<policies::host_number>(each, "host"), .why = text_of(each, "why")});
  return report;
}

}  // namespace tidegate::launch
