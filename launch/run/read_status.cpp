#include "launch/run/read_status.hpp"

#include <nlohmann/json.hpp>

#include "launch/run/control_socket.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/files.hpp"

namespace tidegate::launch {

runtime::expected<std::string> read_status(const std::string& run_dir,
                                           const std::function<void()>& waits) {
  auto answer = ask_launcher(run_dir, "status", waits);
  if (answer) return answer;
  auto result = read_file(run_dir + "/result.json");
  if (result) return status_of_result(*result);
  return runtime::fail(answer.error().code(),
                       answer.error().message() + ", and no result is there");
}

bool has_ended(const std::string& status_line) {
  const auto all = nlohmann::json::parse(status_line, nullptr, false);
  return all.is_object() && all.contains("exit_code");
}

}  // namespace tidegate::launch
