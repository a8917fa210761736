#include "launch/agents/agent_config.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "launch/plan/environment.hpp"
#include "policies/protocol/protocol_version.hpp"

namespace tidegate::launch {

using json = nlohmann::ordered_json;

namespace {

json json_of(const staged_file& file) {
  return {
      {"path", file.path}, {"bytes", file.bytes}, {"mode", file.mode}, {"sha256", file.sha256}};
}

staged_file staged_of(const json& from) {
  staged_file file;
  from.at("path").get_to(file.path);
  from.at("bytes").get_to(file.bytes);
  from.at("mode").get_to(file.mode);
  from.at("sha256").get_to(file.sha256);
  return file;
}

}  // namespace

std::string config_text(const agent_config& config) {
  auto staged = json::array();
  for (const auto& file : config.staged) staged.push_back(json_of(file));
  const json all{{"protocol", policies::protocol_text()},
                 {"host", config.host},
                 {"start", config.start},
                 {"launcher_host", config.launcher_host},
                 {"launcher_port", config.launcher_port},
                 {"token", format_token(config.token)},
                 {"run_dir", config.run_dir},
                 {"folder", config.folder},
                 {"workers_port", config.workers_port},
                 {"cluster", config.cluster},
                 {"variables", config.variables},
                 {"instructions", config.instructions},
                 {"staged", std::move(staged)},
                 {"run", config.run}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

runtime::expected<agent_config> parse_config(const std::string& line) {
  const auto corrupt = [](const std::string& why) {
    return runtime::fail(runtime::errc::corrupt,
                         "the first line of standard input is not what `tidegate launch` says "
                         "to an agent of a host: " +
                             why);
  };
  try {
    const auto all = json::parse(line);
    // First: what another version writes is not known here.
    const auto protocol = all.at("protocol").get<std::string>();
    if (auto known = policies::check_protocol(protocol.c_str(),
                                              "install the launcher's Tidegate on this host");
        !known.ok())
      return runtime::fail(std::move(known));
    agent_config config;
    all.at("host").get_to(config.host);
    all.at("start").get_to(config.start);
    all.at("launcher_host").get_to(config.launcher_host);
    all.at("launcher_port").get_to(config.launcher_port);
    all.at("run_dir").get_to(config.run_dir);
    all.at("folder").get_to(config.folder);
    all.at("workers_port").get_to(config.workers_port);
    all.at("cluster").get_to(config.cluster);
    all.at("variables").get_to(config.variables);
    all.at("run").get_to(config.run);
    all.at("instructions").get_to(config.instructions);
    for (const auto& file : all.at("staged")) config.staged.push_back(staged_of(file));
    if (!parse_token(all.at("token").get<std::string>(), config.token)) return corrupt("token");
    return config;
  } catch (const json::exception& why) {
    return corrupt(why.what());
  }
}

}  // namespace tidegate::launch
