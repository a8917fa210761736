#include "launch/agents/host_agents.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "launch/agents/agent_text.hpp"
#include "launch/agents/own_address.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/process_end.hpp"
#include "launch/shell/inner_agent.hpp"
#include "launch/text/files.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/placement/hosts.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

// mpirun and srun end what they have started when they are asked to, and only then.
constexpr std::int64_t starter_gone_within = 2'000 * policies::millisecond;

constexpr std::int64_t copying_told_every = 100 * policies::millisecond;

// Such a process is an agent's, or has left it.
bool is_of_a_run(std::int32_t pid) {
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  return environment && environment->find("TIDEGATE_TOKEN=") != std::string::npos;
}

}  // namespace

host_agents::host_agents(const policies::cluster_spec& spec, const agent_starter& programs,
                         const agent_links& links, agent_config common)
    : programs_(programs),
      links_(links),
      common_(std::move(common)),
      options_{.token = common_.token,
               .unreachable_ms = spec.supervision.unreachable_ms,
               .encrypt = spec.security.encrypt},
      last_connection_(inner_agent::connection) {
  for (const auto* named : policies::agent_hosts(spec)) hosts_.emplace_back().spec = named;
}

host_agents::~host_agents() {
  for (const auto& each : hosts_)
    if (each.agent) end_now(*each.agent);
}

void host_agents::happened(policies::host_number host, decltype(agent_event::happened) event) {
  events_.push_back({host, std::move(event)});
}

void host_agents::start(policies::host_number number, std::uint64_t start) {
  if (auto started = try_to_start(number, start); !started.ok())
    happened(number, agent_event::ended{"its agent cannot be started: " + started.message()});
}

runtime::status host_agents::try_to_start(policies::host_number number, std::uint64_t start) {
  auto& host = at(number);
  const auto door = door_for(host);
  if (!door) return door.error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {runtime::errc::io_error, "no more file descriptors"};
  const runtime::unique_fd read_end(ends[0]);
  runtime::unique_fd write_end(ends[1]);
  ::fcntl(write_end.get(), F_SETFL, O_NONBLOCK);
  auto agent = spawn(programs_.request(
      *host.spec, log_path(common_.run_dir, "agent-" + host.spec->name), read_end.get()));
  if (!agent) return agent.error();
  host.agent = std::move(*agent);
  host.input = std::move(write_end);
  auto config = common_;
  config.host = host.spec->name;
  config.start = start;
  std::tie(config.launcher_host, config.launcher_port) = *door;
  host.unsent = config_text(config);
  host.sent = 0;
  feed(host);
  return {};
}

// The address from which the host is reached is one at which its agent reaches the launcher.
runtime::expected<std::pair<std::string, std::uint16_t>> host_agents::door_for(host& of) {
  if (of.own_address.empty()) {
    auto own = own_address_towards(of.spec->address);
    if (!own) return runtime::fail(own.error());
    of.own_address = std::move(*own);
  }
  auto at = doors_.find(of.own_address);
  if (at == doors_.end()) {
    auto opened = links_.listen(of.own_address, 0, options_);
    if (!opened) return runtime::fail(opened.error());
    at = doors_.emplace(of.own_address, std::move(*opened)).first;
  }
  return std::pair(of.own_address, at->second->port());
}

void host_agents::feed(host& to) {
  while (to.sent < to.unsent.size()) {
    const auto sent =
        ::write(to.input.get(), to.unsent.data() + to.sent, to.unsent.size() - to.sent);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      if (errno != EAGAIN) to.unsent.clear();  // it has ended, which reap() tells
      return;
    }
    to.sent += static_cast<std::size_t>(sent);
  }
  to.unsent.clear();
}

void host_agents::end(policies::host_number number) {
  auto& host = at(number);
  if (!host.agent || host.kill_at != never) return;
  host.input.reset();
  host.unsent.clear();
  host.descendants = runtime::descendants_of(host.agent->pid);
  ::kill(-host.agent->pid, SIGTERM);
  host.kill_at = runtime::steady_now() + starter_gone_within;
}

std::int64_t host_agents::next_wake() const {
  auto wake = never;
  for (const auto& host : hosts_) wake = std::min(wake, host.kill_at);
  return wake;
}

void host_agents::send(policies::agent_connection over, const policies::launcher_frame& frame) {
  const auto found = connections_.find(over);
  if (found != connections_.end()) found->second.link.send(frame_text(frame));
}

void host_agents::read() {
  for (auto& [address, door] : doors_)
    for (auto connection = door->take(); connection; connection = door->take())
      connections_[++last_connection_].link = frame_connection(std::move(connection));
  for (auto next = connections_.begin(); next != connections_.end();) {
    auto& [number, from] = *next;
    if (hear(number, from)) {
      ++next;
      continue;
    }
    if (from.host) happened(*from.host, agent_event::disconnected{number});
    next = connections_.erase(next);
  }
  for (policies::host_number number = 1; number <= hosts_.size(); ++number) {
    auto& host = at(number);
    feed(host);
    if (const auto now = runtime::steady_now(); host.agent && now >= host.kill_at) {
      ::kill(-host.agent->pid, SIGKILL);
      host.kill_at = now + starter_gone_within;
    }
    reap(number);
  }
}

bool host_agents::hear(policies::agent_connection number, connection& from) {
  std::vector<std::string> texts;
  const bool is_open = from.link.read(texts);
  if (from.copies || (!from.host && !texts.empty() && parse_file_request(texts.front())))
    return serve(from, texts) && is_open;
  for (const auto& text : texts) {
    if (!from.host) {
      const auto name = parse_greeting(text);
      from.host = name ? find(*name) : std::nullopt;
      if (!from.host) return false;
      continue;
    }
    auto frame = parse_agent_frame(text);
    if (!frame) return false;
    happened(*from.host, agent_event::frame{number, std::move(*frame)});
  }
  // A long text may be on its way for as long as an agent may say nothing.
  if (from.link.take_sign() && texts.empty() && from.host)
    happened(*from.host, agent_event::frame{
                             number, {.taken = 0, .content = policies::agent_frame::sign{}}});
  return is_open;
}

// The launcher waits for a host that copies as for one that says nothing yet, from then on.
bool host_agents::serve(connection& from, const std::vector<std::string>& texts) {
  for (const auto& text : texts) {
    const auto request = parse_file_request(text);
    const auto host = request ? find(request->host) : std::nullopt;
    if (!host) return false;
    if (!from.copies) from.copies.emplace(copying{*host, file_server(common_.staged)});
    if (request->file && !from.copies->files.take(*request->file, from.link)) return false;
  }
  auto& copies = *from.copies;
  const auto now = runtime::steady_now();
  if ((copies.files.send_some(from.link) || !texts.empty()) &&
      now >= copies.told_at + copying_told_every) {
    copies.told_at = now;
    happened(copies.to, agent_event::copies{});
  }
  return true;
}

std::optional<policies::host_number> host_agents::find(const std::string& name) const {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const auto& host) { return host.spec->name == name; });
  if (found == hosts_.end()) return std::nullopt;
  return static_cast<policies::host_number>(found - hosts_.begin() + 1);
}

// What it says before it ends is in its log.
void host_agents::reap(policies::host_number number) {
  auto& host = at(number);
  if (!host.agent) return;
  const auto result = launch::reap(*host.agent);
  if (!result) return;
  host.agent.reset();
  host.kill_at = never;
  // What it has not ended itself: mpirun leaves its clients of ssh behind that wait for a host
  // that is gone.
  for (const auto& left : std::exchange(host.descendants, {}))
    if (!is_of_a_run(left.pid)) (void)runtime::end_process(left, 0);  // nobody waits for it
  host.input.reset();
  host.unsent.clear();
  happened(number,
           agent_event::ended{"its agent " + text_of_end(result->by_signal, result->code)});
}

void host_agents::add_to(std::vector<pollfd>& fds) const {
  for (const auto& [address, door] : doors_) fds.push_back({door->fd(), POLLIN, 0});
  for (const auto& [number, from] : connections_) {
    const auto sends = from.copies && from.copies->files.is_sending() ? POLLOUT : 0;
    fds.push_back({from.link.fd(), static_cast<short>(from.link.awaits() | sends), 0});
  }
  for (const auto& host : hosts_) {
    if (host.agent) fds.push_back({host.agent->pid_fd.get(), POLLIN, 0});
    if (!host.unsent.empty()) fds.push_back({host.input.get(), POLLOUT, 0});
  }
}

bool host_agents::has(pid_t pid) const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [&](const auto& host) { return host.agent && host.agent->pid == pid; });
}

}  // namespace tidegate::launch
