#include "launch/agents/stage_here.hpp"

#include <array>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "launch/agents/file_server.hpp"
#include "launch/agents/frame_connection.hpp"

namespace tidegate::launch {

using runtime::errc;

namespace {

// Nothing is said there: it only ends.
bool has_ended(int input) {
  std::array<char, 64> ignored{};
  return ::read(input, ignored.data(), ignored.size()) == 0;
}

// Waits for texts of the launcher. Errors: unavailable.
runtime::status wait_for(frame_connection& launcher, int input, std::uint32_t within_ms,
                         std::vector<std::string>& into) {
  while (into.empty()) {
    std::array<pollfd, 2> fds{{{.fd = launcher.fd(), .events = launcher.awaits(), .revents = 0},
                               {.fd = input, .events = POLLIN, .revents = 0}}};
    const auto ready = ::poll(fds.data(), fds.size(), static_cast<int>(within_ms));
    if (ready == 0)
      return {errc::unavailable, "the launcher has sent nothing for " +
                                     std::to_string(within_ms) +
                                     " ms (supervision.unreachable)"};
    if (fds[1].revents != 0 && has_ended(input))
      return {errc::unavailable,
              "standard input has ended: whoever has started this agent is gone"};
    if (fds[0].revents != 0 && !launcher.read(into) && into.empty())
      return {errc::unavailable, "the launcher has closed the connection"};
  }
  return {};
}

runtime::status take(const std::string& text, arriving_file& into) {
  if (text.starts_with(file_data)) return into.write(std::as_bytes(std::span(text).subspan(1)));
  return {errc::io_error, text.starts_with(file_error) ? text.substr(1) : "no piece of a file"};
}

runtime::status copy(const staged_file& file, frame_connection& launcher, int input,
                     std::uint32_t within_ms) {
  auto arriving = arriving_file::begin(file);
  if (!arriving) return arriving.error();
  std::vector<std::string> texts;
  while (arriving->missing_bytes() > 0) {
    texts.clear();
    if (auto heard = wait_for(launcher, input, within_ms, texts); !heard.ok())
      return {heard.code(), "while " + file.path + " is copied: " + heard.message()};
    for (const auto& text : texts)
      if (auto taken = take(text, *arriving); !taken.ok()) return taken;
  }
  return arriving->finish();
}

}  // namespace

runtime::expected<staging_outcome> stage_here(const agent_config& config,
                                              const agent_links& links,
                                              const agent_link_options& options, int input) {
  staging_outcome outcome;
  frame_connection launcher;
  for (std::size_t file = 0; file < config.staged.size(); ++file) {
    const auto& staged = config.staged[file];
    if (is_here(staged)) continue;
    if (!launcher.is_open()) {
      auto connected = links.connect(config.launcher_host, config.launcher_port, options);
      if (!connected) return runtime::fail(connected.error());
      launcher = frame_connection(std::move(*connected));
    }
    launcher.send(request_text({.host = config.host, .file = file}));
    if (auto copied = copy(staged, launcher, input, options.unreachable_ms); !copied.ok())
      return runtime::fail(std::move(copied));
    ++outcome.files;
    outcome.bytes += staged.bytes;
  }
  return outcome;
}

}  // namespace tidegate::launch
