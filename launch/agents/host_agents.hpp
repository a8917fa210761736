// The agents of a run's other hosts, as the launcher has them: what has started each, and the
// connections that agents have made. Main thread only (see spawn.hpp). Ends what it has started
// when destroyed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "launch/agents/agent_config.hpp"
#include "launch/agents/agent_door.hpp"
#include "launch/agents/agent_starter.hpp"
#include "launch/agents/file_server.hpp"
#include "launch/agents/frame_connection.hpp"
#include "launch/processes/spawn.hpp"
#include "launch/shell/run_port.hpp"
#include "policies/model/spec.hpp"
#include "runtime/process/process_mark.hpp"

namespace tidegate::launch {

class host_agents {
 public:
  // Hosts have the numbers of policies::agent_hosts(), the first 1. `common`: what all are told
  // (of their host, start and launcher's address each is told its own). `spec`, `programs` and
  // `links` outlive it.
  host_agents(const policies::cluster_spec& spec, const agent_starter& programs,
              const agent_links& links, agent_config common);
  host_agents(const host_agents&) = delete;
  host_agents& operator=(const host_agents&) = delete;
  ~host_agents();

  // As run_port has them. What is to end has a moment to end what it has started elsewhere.
  void start(policies::host_number host, std::uint64_t start);
  void end(policies::host_number host);
  void send(policies::agent_connection over, const policies::launcher_frame& frame);
  void close(policies::agent_connection connection) { connections_.erase(connection); }
  std::vector<agent_event> take_events() { return std::exchange(events_, {}); }

  // Takes in what has happened. To be called at next_wake(), too: nanoseconds of
  // runtime::steady_now().
  void read();
  std::int64_t next_wake() const;
  // Adds descriptors that become readable when read() has something to tell.
  void add_to(std::vector<pollfd>& fds) const;
  bool has(pid_t pid) const;

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  struct host {
    const policies::host_spec* spec = nullptr;
    // The launcher\'s, as the host reaches it: asked for once, as a resolver may take its time.
    std::string own_address = {};
    std::optional<spawned> agent;                         // what has started it, or itself
    runtime::unique_fd input;                             // the agent ends when this is closed
    std::string unsent;                                   // to it
    std::size_t sent = 0;                                 // bytes of `unsent` that it has
    std::int64_t kill_at = never;                         // it was asked to end
    std::vector<runtime::process_mark> descendants = {};  // of it, at that moment
  };
  // Of files to a host that lacks them.
  struct copying {
    policies::host_number to = 0;
    file_server files;
    std::int64_t told_at = 0;  // last
  };
  struct connection {
    frame_connection link;
    std::optional<policies::host_number> host;  // once it has said so
    std::optional<copying> copies = {};  // its agent asks for files, and says nothing else
  };

  host& at(policies::host_number number) { return hosts_[number - 1]; }
  runtime::status try_to_start(policies::host_number number, std::uint64_t start);
  // Returns where agents of this host reach the launcher.
  runtime::expected<std::pair<std::string, std::uint16_t>> door_for(host& of);
  void feed(host& to);
  void reap(policies::host_number number);
  // Returns false if the connection is to be closed.
  bool hear(policies::agent_connection number, connection& from);
  // The same for a connection that asks for files.
  bool serve(connection& from, const std::vector<std::string>& texts);
  std::optional<policies::host_number> find(const std::string& name) const;
  void happened(policies::host_number host, decltype(agent_event::happened) event);

  const agent_starter& programs_;
  const agent_links& links_;
  agent_config common_;
  agent_link_options options_;
  std::vector<host> hosts_;                                   // the first has number 1
  std::map<std::string, std::unique_ptr<agent_door>> doors_;  // by the address
  std::map<policies::agent_connection, connection> connections_;
  policies::agent_connection last_connection_;
  std::vector<agent_event> events_;
};

}  // namespace tidegate::launch
