#include "launch/processes/process_records.hpp"

#include <nlohmann/json.hpp>

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string launcher_json(const policies::launcher_mark& mark) {
  return dump({{"pid", mark.pid},
               {"started", mark.started},
               {"session", mark.session},
               {"token", mark.token},
               {"host", mark.host},
               {"machine", mark.machine}});
}

runtime::expected<policies::launcher_mark> parse_launcher(const std::string& text) {
  const auto root = json::parse(text, nullptr, false);
  const auto number = [&](const char* key) {
    return root.is_object() && root.contains(key) && root[key].is_number_unsigned();
  };
  const bool has_token =
      root.is_object() && root.contains("token") && root["token"].is_string();
  if (!number("pid") || !number("started") || !number("session") || !has_token)
    return runtime::fail(runtime::errc::corrupt,
                         "launcher.json is not what tidegate launch writes");
  // What wrote it may be older than these.
  const auto text_or_nothing = [&](const char* key) {
    return root.contains(key) && root[key].is_string() ? root[key].get<std::string>()
                                                       : std::string();
  };
  return policies::launcher_mark{.pid = root["pid"].get<std::int32_t>(),
                                 .started = root["started"].get<std::uint64_t>(),
                                 .session = root["session"].get<std::int32_t>(),
                                 .token = root["token"].get<std::string>(),
                                 .host = text_or_nothing("host"),
                                 .machine = text_or_nothing("machine")};
}

std::string pids_json(const std::vector<live_process>& processes,
                      const std::vector<std::string>& hosts) {
  json list = json::array();
  for (const auto& p : processes) {
    list.push_back({{"role", to_string(p.name.role)},
                    {"job", p.name.job},
                    {"index", p.name.index},
                    {"pid", p.pid},
                    {"started", p.started}});
    if (p.host < hosts.size() && !hosts[p.host].empty()) list.back()["host"] = hosts[p.host];
  }
  return dump(list);
}

runtime::expected<std::vector<live_process>> parse_pids(const std::string& text) {
  const auto corrupt = [] {
    return runtime::fail(runtime::errc::corrupt,
                         "pids.json is not what tidegate launch writes");
  };
  const auto list = json::parse(text, nullptr, false);
  if (!list.is_array()) return corrupt();
  std::vector<live_process> all;
  for (const auto& entry : list) {
    if (!entry.is_object()) return corrupt();
    const auto word = entry.find("role"), job = entry.find("job"), index = entry.find("index"),
               pid = entry.find("pid"), started = entry.find("started");
    for (const auto& field : {word, job, index, pid, started})
      if (field == entry.end()) return corrupt();
    if (!word->is_string() || !job->is_string() || !index->is_number_unsigned() ||
        !pid->is_number_unsigned() || !started->is_number_unsigned())
      return corrupt();
    const auto role = policies::role_of(word->get_ref<const std::string&>());
    // 1 and below would be signals to all.
    if (!role || pid->get<std::uint64_t>() < 2 || pid->get<std::uint64_t>() > 1U << 22U)
      return corrupt();
    all.push_back({{.role = *role, .job = *job, .index = index->get<std::uint32_t>()},
                   pid->get<int>(),
                   started->get<std::uint64_t>()});
  }
  return all;
}

}  // namespace tidegate::launch
