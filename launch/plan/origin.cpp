#include "launch/plan/origin.hpp"

#include <nlohmann/json.hpp>

#include "launch/text/files.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

}  // namespace

std::string origin_json(const origin& from) {
  json all{{"folder", from.folder}, {"run_dir", from.run_dir}};
  if (!from.run.empty()) all["run"] = from.run;
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

runtime::expected<origin> read_origin(const std::string& run_dir) {
  const auto path = run_dir + "/origin.json";
  const auto text = read_file(path);
  if (!text) return runtime::fail(text.error());
  const auto root = json::parse(*text, nullptr, false);
  const auto has = [&](const char* key) {
    return root.is_object() && root.contains(key) && root[key].is_string();
  };
  if (!has("folder") || !has("run_dir"))
    return runtime::fail(runtime::errc::corrupt, path + " is not what tidegate launch writes");
  return origin{.folder = root["folder"].get<std::string>(),
                .run_dir = root["run_dir"].get<std::string>(),
                .run = has("run") ? root["run"].get<std::string>() : std::string()};
}

}  // namespace tidegate::launch
