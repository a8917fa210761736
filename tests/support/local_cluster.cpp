#include "tests/support/local_cluster.hpp"

#include <sstream>
#include <stdlib.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <caf/all.hpp>

#include "actors/node/aggregator_actor.hpp"
#include "actors/node/coordinator_actor.hpp"
#include "actors/node/shard_actor.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "actors/session/session_parts.hpp"
#include "policies/model/state_layout.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::tests {

local_cluster::local_cluster(policies::cluster_spec spec, actors::link_factory make_link,
                             bool windows)
    : spec_(std::move(spec)),
      make_link_(std::move(make_link)),
      host_(windows ? runtime::host_identity() : 0) {
  // Links that prove themselves take it from where a launcher leaves it.
  std::ostringstream token;
  token << std::hex << token_;
  ::setenv("TIDEGATE_TOKEN", token.str().c_str(), 1);
  auto& system = process_.get();
  coordinator_ = actors::spawn_coordinator(system, spec_, token_);
  caf::scoped_actor self(system);
  for (std::uint32_t index = 0; index < spec_.shards; ++index) {
    auto& home = new_home();
    shards_.push_back(actors::spawn_on<actors::shard>(
        home, system, index,
        actors::shard_keeping{.rows_dir = spec_.rows_dir, .device = {.name = spec_.device}}));
    bool joined = false;
    self->request(coordinator_, std::chrono::seconds(10), actors::shard_atom::value, token_,
                  index, std::uint32_t{0}, std::uint32_t{1}, home.address(),
                  caf::actor_cast<caf::actor>(shards_.back()))
        .receive([&](actors::done_atom) { joined = true; }, [](caf::error&) {});
    TIDEGATE_ASSERT(joined, "a shard joins");
  }
  for (const auto& job : spec_.jobs) join_aggregators(job);
}

actors::reactor& local_cluster::new_home() {
  auto home = actors::reactor::start(process_.get(), make_link_, host_);
  TIDEGATE_ASSERT(home, "a reactor starts");
  homes_.push_back(std::move(*home));
  return *homes_.back();
}

void local_cluster::join_aggregators(const policies::job_spec& job) {
  caf::scoped_actor self(process_.get());
  const auto count = policies::plan_aggregation(spec_, job).aggregators.size();
  for (std::uint32_t index = 0; index < count; ++index) {
    auto& home = new_home();
    shards_.push_back(actors::spawn_on<actors::aggregator>(home, process_.get()));
    bool joined = false;
    self->request(coordinator_, std::chrono::seconds(10), actors::aggregator_atom::value,
                  token_, job.name, index, std::uint32_t{1}, home.address(),
                  caf::actor_cast<caf::actor>(shards_.back()))
        .receive([&](actors::done_atom) { joined = true; }, [](caf::error&) {});
    TIDEGATE_ASSERT(joined, "an aggregator joins");
  }
}

local_cluster::~local_cluster() {
  stop();
}

void local_cluster::stop() {
  if (std::exchange(stopped_, true)) return;
  caf::scoped_actor self(process_.get());
  self->request(coordinator_, std::chrono::seconds(10), actors::stop_atom::value, token_)
      .receive([](actors::done_atom) {},
               [&](caf::error&) {  // it was killed
                 for (auto& shard : shards_) self->send(shard, actors::stop_atom::value);
               });
  for (auto& shard : shards_) self->wait_for(shard);
  self->wait_for(coordinator_);
  shards_.clear();
  coordinator_ = nullptr;
  homes_.clear();
}

void local_cluster::kill_coordinator() {
  caf::scoped_actor self(process_.get());
  self->send_exit(coordinator_, caf::exit_reason::kill);
  self->wait_for(coordinator_);
}

runtime::expected<tidegate::session> local_cluster::join(const std::string& job,
                                                         std::uint32_t rank,
                                                         std::uint32_t incarnation) {
  actors::session_parts parts;
  parts.system = &process_.get();
  parts.coordinator = std::make_shared<actors::coordinator_locator>(coordinator_);
  parts.make_link = make_link_;
  parts.host = host_;
  parts.environment.node.token = token_;
  parts.environment.job = job;
  parts.environment.rank = rank;
  parts.environment.incarnation = incarnation;
  parts.state = state_of(job, rank);
  if (open_device_) parts.open_device = open_device_;
  return actors::join(std::move(parts));
}

runtime::expected<std::shared_ptr<runtime::state_file>> local_cluster::state_of(
    const std::string& job, std::uint32_t rank) {
  const std::lock_guard lock(states_mutex_);
  auto at = states_.find({job, rank});
  if (at == states_.end()) {
    auto file = runtime::state_file::make(
        token_, policies::state_memory_bytes(policies::default_state_bytes));
    if (!file) return runtime::fail(file.error());
    if (auto put = file->put(policies::state_history_offset, 1); !put.ok())
      return runtime::fail(put);
    at = states_.emplace(std::pair(job, rank), std::move(*file)).first;
  }
  auto opened = runtime::state_file::open(::dup(at->second.fd()), token_);
  if (!opened) return runtime::fail(opened.error());
  return std::make_shared<runtime::state_file>(std::move(*opened));
}

void local_cluster::run_workers(const std::string& job,
                                const std::function<void(tidegate::session&)>& body) {
  std::uint32_t workers = 0;
  for (const auto& spec : spec_.jobs)
    if (spec.name == job) workers = spec.workers;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    threads.emplace_back([&, rank] {
      auto session = join(job, rank);
      TIDEGATE_ASSERT(session, "a worker joins");
      body(*session);
    });
  for (auto& thread : threads) thread.join();
}

policies::cluster_status local_cluster::status() {
  caf::scoped_actor self(process_.get());
  policies::cluster_status result;
  self->request(coordinator_, std::chrono::seconds(10), actors::status_atom::value, token_,
                std::uint64_t{0})
      .receive([&](policies::cluster_status& value) { result = std::move(value); },
               [](caf::error&) { TIDEGATE_ASSERT(false, "the coordinator answers"); });
  return result;
}

policies::cluster_spec small_cluster(std::uint32_t shards, std::uint32_t workers,
                                     policies::consistency_spec consistency,
                                     std::uint64_t chunk_bytes) {
  policies::cluster_spec spec;
  spec.name = "test";
  spec.shards = shards;
  spec.chunk_bytes = chunk_bytes;
  policies::job_spec job;
  job.name = "job";
  job.workers = workers;
  job.consistency = consistency;
  job.optimizer.kind = policies::optimizer_kind::sgd;
  job.optimizer.learning_rate = 0.5F;
  spec.jobs.push_back(job);
  return spec;
}

}  // namespace tidegate::tests
