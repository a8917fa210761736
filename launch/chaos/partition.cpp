#include "launch/chaos/partition.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "launch/config/read_spec.hpp"
#include "launch/text/nearest.hpp"
#include "runtime/base/unique_fd.hpp"

extern char** environ;

namespace tidegate::chaos {

namespace {

using runtime::errc;
using runtime::fail;
using runtime::status;

// What it prints, also on stderr. Errors: io_error.
runtime::expected<std::string> output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errc::io_error, "no more file descriptors");
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
  if (spawned != 0) return fail(errc::io_error, command[0] + ": " + std::strerror(spawned));
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
  return fail(errc::io_error, line + ": " + (text.empty() ? "failed" : text));
}

runtime::expected<std::string> ip(const policies::host_spec& host,
                                  const std::vector<std::string>& words) {
  auto command = host.prefix;
  command.push_back("ip");
  command.insert(command.end(), words.begin(), words.end());
  return output_of(command);
}

}  // namespace

runtime::expected<std::vector<std::string>> hosts_of(const std::string& run_dir) {
  const auto spec = launch::load_cluster(run_dir + "/cluster.yaml", {});
  if (!spec) return fail(spec.error());
  std::vector<std::string> names;
  for (const auto& host : spec->hosts)
    if (!host.address.empty()) names.push_back(host.name);
  return names;
}

runtime::expected<policies::host_spec> find_host(const std::string& run_dir,
                                                 const std::string& name) {
  const auto spec = launch::load_cluster(run_dir + "/cluster.yaml", {});
  if (!spec) return fail(spec.error());
  std::vector<std::string> names;
  for (const auto& host : spec->hosts) {
    if (host.name == name && !host.address.empty()) return host;
    names.push_back(host.name);
  }
  return fail(errc::not_found,
              "no host " + name + " with an address; there are: " +
                  (names.empty() ? "none (cluster.hosts)" : launch::join(names)));
}

runtime::expected<std::string> interface_of(const policies::host_spec& host) {
  const auto listed = ip(host, {"-o", "address", "show", "to", host.address});
  if (!listed) return fail(listed.error());
  std::istringstream from(*listed);  // "7: eth0    inet 10.0.0.2/24 ..."
  std::string number;
  std::string interface;
  if (from >> number >> interface) return interface;
  return fail(errc::not_found, "no interface of host " + host.name + " has the address " +
                                   host.address + " (cluster.hosts." + host.name + ".prefix)");
}

status set_interface(const policies::host_spec& host, const std::string& interface, bool up) {
  const auto set = ip(host, {"link", "set", "dev", interface, up ? "up" : "down"});
  return set ? status() : set.error();
}

}  // namespace tidegate::chaos
