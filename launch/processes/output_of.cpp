#include "launch/processes/output_of.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/unique_fd.hpp"

extern char** environ;

namespace tidegate::launch {

runtime::expected<std::string> output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return runtime::fail(runtime::errc::io_error, "no more file descriptors");
  const runtime::unique_fd read_end(ends[0]);
  runtime::unique_fd write_end(ends[1]);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 2);
  pid_t pid = -1;
  const int spawned = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0)
    return runtime::fail(runtime::errc::io_error, command[0] + ": " + std::strerror(spawned));
  write_end.reset();
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto n = ::read(read_end.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  int ended = 0;
  while (::waitpid(pid, &ended, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return text;
  std::string line;
  for (const auto& word : command) line += (line.empty() ? "" : " ") + word;
  return runtime::fail(runtime::errc::io_error, line + ": " + (text.empty() ? "failed" : text));
}

}  // namespace tidegate::launch
