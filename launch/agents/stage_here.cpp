#include "launch/agents/stage_here.hpp"

#include <array>
#include <cstddef>
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

// The launcher, as long as a host is staged.
class launcher_of_files {
 public:
  launcher_of_files(const agent_config& config, const agent_links& links,
                    const agent_link_options& options, int input, int signals)
      : config_(config), links_(links), options_(options), input_(input), signals_(signals) {}

  // Errors: those of agent_links::connect.
  runtime::status ask(std::optional<std::size_t> file) {
    if (!connection_.is_open()) {
      auto connected = links_.connect(config_.launcher_host, config_.launcher_port, options_);
      if (!connected) return connected.error();
      connection_ = frame_connection(std::move(*connected));
    }
    connection_.send(request_text({.host = config_.host, .file = file}));
    return {};
  }

  // Returns true if nobody wants the files any more: hear() says why.
  bool is_to_end() const {
    std::array<pollfd, 2> fds{{{.fd = input_, .events = POLLIN, .revents = 0},
                               {.fd = signals_, .events = POLLIN, .revents = 0}}};
    return ::poll(fds.data(), fds.size(), 0) > 0 && (fds[1].revents != 0 || has_ended(input_));
  }

  // Errors: unavailable, cancelled.
  runtime::status hear(std::vector<std::string>& into) {
    while (into.empty()) {
      if (!connection_.is_open())
        return {errc::unavailable, "the launcher has closed the connection"};
      std::array<pollfd, 3> fds{
          {{.fd = connection_.fd(), .events = connection_.awaits(), .revents = 0},
           {.fd = input_, .events = POLLIN, .revents = 0},
           {.fd = signals_, .events = POLLIN, .revents = 0}}};
      const auto within = static_cast<int>(options_.unreachable_ms);
      if (::poll(fds.data(), fds.size(), within) == 0)
        return {errc::unavailable, "the launcher has sent nothing for " +
                                       std::to_string(within) +
                                       " ms (supervision.unreachable)"};
      if (fds[2].revents != 0) return {errc::cancelled, "a signal ends this agent"};
      if (fds[1].revents != 0 && has_ended(input_))
        return {errc::cancelled,
                "standard input has ended: whoever has started this agent is gone"};
      if (fds[0].revents != 0) (void)connection_.read(into);
    }
    return {};
  }

 private:
  const agent_config& config_;
  const agent_links& links_;
  const agent_link_options& options_;
  int input_;
  int signals_;
  frame_connection connection_;
};

runtime::status take(const std::string& text, arriving_file& into) {
  if (text.starts_with(file_data)) return into.write(std::as_bytes(std::span(text).subspan(1)));
  return {errc::io_error, text.starts_with(file_error) ? text.substr(1) : "no piece of a file"};
}

runtime::status copy(const staged_file& file, launcher_of_files& launcher) {
  auto arriving = arriving_file::begin(file);
  if (!arriving) return arriving.error();
  std::vector<std::string> texts;
  while (arriving->missing_bytes() > 0) {
    texts.clear();
    if (auto heard = launcher.hear(texts); !heard.ok())
      return {heard.code(), "while " + file.path + " is copied: " + heard.message()};
    for (const auto& text : texts)
      if (auto taken = take(text, *arriving); !taken.ok()) return taken;
  }
  return arriving->finish();
}

}  // namespace

runtime::expected<staging_outcome> stage_here(const agent_config& config,
                                              const agent_links& links,
                                              const agent_link_options& options, int input,
                                              int signals) {
  staging_outcome outcome;
  launcher_of_files launcher(config, links, options, input, signals);
  // A launcher that is not there is found out when it is needed, and so is an end.
  const auto compares = [&launcher] {
    (void)launcher.ask(std::nullopt);
    return !launcher.is_to_end();
  };
  for (std::size_t file = 0; file < config.staged.size(); ++file) {
    const auto& staged = config.staged[file];
    if (is_here(staged, compares)) continue;
    if (staged.bytes > 0)
      if (auto asked = launcher.ask(file); !asked.ok()) return runtime::fail(std::move(asked));
    if (auto copied = copy(staged, launcher); !copied.ok())
      return runtime::fail(std::move(copied));
    ++outcome.files;
    outcome.bytes += staged.bytes;
  }
  return outcome;
}

}  // namespace tidegate::launch
