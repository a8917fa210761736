#include "launch/agents/agent_mark.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

#include "launch/plan/environment.hpp"
#include "launch/processes/leftovers.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/text/files.hpp"
#include "runtime/process/process_mark.hpp"

namespace tidegate::launch {

namespace {

constexpr int gone_within_ms = 5000;
constexpr mode_t private_folder = 0700;
constexpr mode_t private_file = 0600;

runtime::expected<int> end_earlier(const std::string& path, const std::string& run_dir) {
  const auto text = read_file(path);
  if (!text && text.error().code() == runtime::errc::not_found) return 0;
  if (!text) return runtime::fail(text.error());
  const auto mark = parse_launcher(*text);
  // What a crash of the machine has spoilt is of processes that are gone with it.
  if (!mark || mark->machine != runtime::machine_of_pids()) return 0;
  const runtime::process_mark agent{mark->pid, mark->started};
  int ended = runtime::is_running(agent) ? 1 : 0;
  if (auto gone = runtime::end_process(agent, gone_within_ms); !gone.ok())
    return runtime::fail(gone.code(), "the agent before this one: " + gone.message());
  const auto left = end_leftovers({.launcher = *mark, .listed = {}, .run_dirs = {run_dir}});
  if (!left) return left;
  return ended + *left;
}

}  // namespace

runtime::expected<int> take_over_host(const agent_config& config, const std::string& run_dir) {
  const auto folder = run_dir + "/agents";
  const auto path = folder + "/" + config.host + ".json";
  const auto ended = end_earlier(path, run_dir);
  if (!ended) return ended;
  if (::mkdir(folder.c_str(), private_folder) != 0 && errno != EEXIST)
    return runtime::fail(runtime::errc::io_error, folder + ": " + std::strerror(errno));
  auto mark = own_mark_as_launcher(format_token(config.token));
  mark.host = config.host;
  if (auto written = write_file_atomically(path, launcher_json(mark), private_file);
      !written.ok())
    return runtime::fail(std::move(written));
  return ended;
}

}  // namespace tidegate::launch
