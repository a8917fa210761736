#include "tests/launch/cli/fake_cluster.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <signal.h>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/launch/cli/fake_wire.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::json;

// Who is at the other end of a connection of the coordinator.
struct peer {
  int fd = -1;
  std::string job;  // of a worker
  bool is_shard = false;
};

struct fake_job {
  std::uint32_t workers = 0;
  std::uint32_t joined = 0;
  std::uint32_t finished = 0;
  std::vector<std::uint32_t> incarnations;  // by rank
  std::string failure;
};

class fake_coordinator {
 public:
  explicit fake_coordinator(const policies::cluster_spec& spec) {
    for (const auto& j : spec.jobs) {
      order_.push_back(j.name);
      jobs_[j.name].workers = j.workers;
      jobs_[j.name].incarnations.resize(j.workers);
    }
  }

  void run(int listener) {
    while (!stopped_) {
      std::vector<pollfd> fds{{.fd = listener, .events = POLLIN, .revents = 0}};
      for (const auto& p : peers_) fds.push_back({p.fd, POLLIN, 0});
      ::poll(fds.data(), fds.size(), -1);
      for (std::size_t i = fds.size() - 1; i > 0; --i) {
        if (fds[i].revents != 0) serve(i - 1);
      }
      if (fds[0].revents != 0)
        peers_.push_back({::accept(listener, nullptr, nullptr), "", false});
    }
    for (const auto& p : peers_) {
      if (p.is_shard) wire::send(p.fd, "stop");
    }
  }

 private:
  void serve(std::size_t at) {
    const auto line = wire::receive(peers_[at].fd);
    if (line.empty()) {
      // Like the real one: a worker that leaves without a word fails its job; not so for job
      // "lax".
      auto& job = jobs_[peers_[at].job];
      if (!peers_[at].job.empty() && peers_[at].job != "lax" && job.failure.empty())
        job.failure = "a worker left early";
      ::close(peers_[at].fd);
      peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    std::istringstream words(line);
    std::string verb;
    std::string name;
    std::string rest;
    words >> verb >> name;
    std::getline(words >> std::ws, rest);
    answer(peers_[at], verb, name, rest);
  }

  void answer(peer& from, const std::string& verb, const std::string& name,
              const std::string& rest) {
    if (verb == "shard") from.is_shard = true;
    if (verb == "join") {
      from.job = name;
      ++jobs_[name].joined;
      std::uint32_t rank = 0;
      std::istringstream numbers(rest);
      numbers >> rank;
      numbers >> jobs_[name].incarnations.at(rank);
    }
    if (verb == "finish") {
      from.job.clear();
      ++jobs_[name].finished;
    }
    if (verb == "fail") {
      from.job.clear();
      jobs_[name].failure = rest;
    }
    if (verb == "stop") stopped_ = true;
    wire::send(from.fd, verb == "poll" ? status().dump() : "ok");
  }

  json status() const {
    json all = json::array();
    for (const auto& name : order_) {
      const auto& j = jobs_.at(name);
      const char* state = !j.failure.empty()        ? "failed"
                          : j.finished == j.workers ? "done"
                          : j.joined == j.workers   ? "running"
                                                    : "waiting";
      all.push_back({{"name", name},
                     {"state", state},
                     {"failure", j.failure},
                     {"joined", j.joined},
                     {"incarnations", j.incarnations}});
    }
    return all;
  }

  std::vector<std::string> order_;
  std::map<std::string, fake_job> jobs_;
  std::vector<peer> peers_;
  bool stopped_ = false;
};

policies::job_status to_status(const json& from) {
  policies::job_status job;
  job.name = from["name"];
  job.policy = "bsp";
  job.failure = from["failure"];
  job.workers_joined = from["joined"];
  job.incarnations = from["incarnations"].get<std::vector<std::uint32_t>>();
  const auto& state = from["state"];
  job.state = state == "done"      ? policies::job_state::done
              : state == "failed"  ? policies::job_state::failed
              : state == "running" ? policies::job_state::running
                                   : policies::job_state::waiting;
  if (job.state != policies::job_state::done) return job;
  job.metrics = {{"test_accuracy", 0.9}, {"loss", 0.25}, {"f1", 0.5}};
  job.samples = 1000;
  job.seconds = 2;
  job.clock_slowest = job.clock_fastest = 10;
  job.parameters_sha256 = std::string(64, 'a');
  return job;
}

class fake_view final : public cluster_view {
 public:
  explicit fake_view(int fd) : fd_(fd) {}
  ~fake_view() override { ::close(fd_); }

  runtime::status reconnect() override {
    return {runtime::errc::unavailable, "no coordinator"};
  }
  runtime::expected<policies::cluster_status> poll(std::uint64_t events_seen) override {
    const auto line = ask("poll");
    if (line.empty()) return runtime::fail(runtime::errc::unavailable, "no coordinator");
    policies::cluster_status status;
    for (const auto& j : json::parse(line)) status.jobs.push_back(to_status(j));
    if (events_seen == 0)
      status.events.push_back({1'700'000'000'000'000'000, "fake_event", "one"});
    return status;
  }
  runtime::status fail_job(const std::string& job, const std::string& why) override {
    return to_status_of(ask("fail " + job + " " + why));
  }
  runtime::status leave(const std::string& job, std::uint32_t rank) override {
    return to_status_of(ask("leave " + job + " " + std::to_string(rank)));
  }
  runtime::status scale(const std::string& job, std::uint32_t workers) override {
    return to_status_of(ask("scale " + job + " " + std::to_string(workers)));
  }
  runtime::status scale_shards(std::uint32_t slots) override {
    return to_status_of(ask("shards " + std::to_string(slots)));
  }
  runtime::status want_last_checkpoint(const std::string& job) override {
    return to_status_of(ask("save " + job));
  }
  runtime::status process_ended(const policies::process_name&, std::uint32_t) override {
    return {};
  }
  runtime::status stop() override { return to_status_of(ask("stop now")); }

 private:
  std::string ask(const std::string& line) const {
    wire::send(fd_, line);
    return wire::receive(fd_);
  }
  static runtime::status to_status_of(const std::string& answer) {
    if (answer == "ok") return {};
    return {runtime::errc::unavailable, "no coordinator"};
  }

  int fd_;
};

runtime::status run_coordinator(const policies::cluster_spec& spec,
                                const actors::run_options& /*run*/,
                                const std::function<void(std::uint16_t)>& on_ready) {
  // Faults that a test asks for by the cluster's name.
  if (spec.name == "silent") ::pause();
  if (spec.name == "broken") return {runtime::errc::unavailable, "the port is in use"};
  std::uint16_t port = 0;
  const int listener = wire::listen(port);
  on_ready(port);
  fake_coordinator(spec).run(listener);
  return {};
}

runtime::status run_shard(const actors::node_options& options) {
  const int fd = wire::dial(options.coordinator_port);
  wire::send(fd, "shard " + std::to_string(options.index));
  wire::receive(fd);
  if (wire::receive(fd) == "stop") return {};
  return {runtime::errc::unavailable, "the coordinator is lost"};
}

runtime::expected<std::unique_ptr<cluster_view>> observe(const actors::node_options& options) {
  const int fd = wire::dial(options.coordinator_port);
  if (fd < 0) return runtime::fail(runtime::errc::unavailable, "nobody listens");
  return std::make_unique<fake_view>(fd);
}

// Everybody is taken in.
class fake_door final : public agent_door {
 public:
  fake_door() : listener_(wire::listen(port_)) {
    ::fcntl(listener_.get(), F_SETFL, O_NONBLOCK);
  }
  std::uint16_t port() const override { return port_; }
  int fd() const override { return listener_.get(); }
  runtime::unique_fd take() override {
    return runtime::unique_fd(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }

 private:
  std::uint16_t port_ = 0;
  runtime::unique_fd listener_;
};

runtime::expected<runtime::unique_fd> connect(const std::string&, std::uint16_t port,
                                              const agent_link_options&) {
  runtime::unique_fd connection(wire::dial(port));
  if (!connection) return runtime::fail(runtime::errc::unavailable, "no launcher listens");
  ::fcntl(connection.get(), F_SETFL, O_NONBLOCK);
  return connection;
}

std::string get(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

services fake_services() {
  return {.run_coordinator = run_coordinator,
          .run_shard = run_shard,
          .run_shard_host = run_shard,
          .run_aggregator = run_shard,
          .observe = observe,
          .agents = {.listen = [](const std::string&, std::uint16_t, const agent_link_options&)
                         -> runtime::expected<std::unique_ptr<agent_door>> {
                       return std::make_unique<fake_door>();
                     },
                     .connect = connect,
                     .reach = [](const std::vector<policies::peer_place>&, std::uint64_t,
                                 int) { return std::vector<policies::unreached_host>(); }}};
}

int fake_worker(const std::vector<std::string>& arguments) {
  const auto action = arguments.at(0);
  const auto argument = arguments.size() > 1 ? arguments[1] : "";
  if (action == "stranger") return 0;
  if (action == "stubborn") ::signal(SIGTERM, SIG_IGN);
  const auto address = get("TIDEGATE_COORDINATOR");
  const int fd =
      wire::dial(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const auto job = get("TIDEGATE_JOB");
  const auto tell = [&](const std::string& line) {
    wire::send(fd, line);
    wire::receive(fd);
  };
  tell("join " + job + " " + get("TIDEGATE_RANK") + " " + get("TIDEGATE_INCARNATION"));
  const bool is_loud = action != "quieter" || get("TIDEGATE_INCARNATION") == "1";
  for (int i = 0; i < 12 && is_loud; ++i)
    ::dprintf(1, "line %d of rank %s\n", i, get("TIDEGATE_RANK").c_str());
  if (action == "abort") std::abort();
  if (action == "exit" || action == "quieter") {
    // With its connection open until the end, and no word.
    ::_exit(std::stoi(argument));
  }
  if (action == "hang" || action == "stubborn") {
    for (;;) ::pause();
  }
  if (action == "fail") {
    tell("fail " + job + " " + argument);
    return 1;
  }
  tell("finish " + job);
  return action == "done_then" ? std::stoi(argument) : 0;
}

}  // namespace tidegate::launch
