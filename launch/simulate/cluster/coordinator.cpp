#include "launch/simulate/cluster/coordinator.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/shard_host.hpp"
#include "launch/simulate/cluster/worker.hpp"

namespace tidegate::sim {

using actors::control_peer;

namespace {

// A member over one of its control connections.
constexpr std::uint64_t handle_of(process_id member, std::uint32_t number) {
  return std::uint64_t{number} << 32U | member;
}

process_id member_of(std::uint64_t handle) {
  return static_cast<process_id>(handle);
}

std::uint32_t number_of(std::uint64_t handle) {
  return static_cast<std::uint32_t>(handle >> 32U);
}

void unheard(const answer&) {}

// A call as a function of the process that it is for.
struct called {
  endpoint_process& to;

  answer operator()(const policies::open_job_call& c) { return {to.open_job(c), {}}; }
  answer operator()(const policies::admit_worker_call& c) { return to.admit(c); }
  answer operator()(const policies::sum_progress_call& c) { return to.sum_progress(c); }
  answer operator()(const policies::shut_out_call& c) { return to.shut_out(c); }
  answer operator()(const policies::join_barrier_call& c) { return to.hold(c); }
  answer operator()(const policies::membership_call& c) { return to.change_membership(c); }
  answer operator()(const policies::close_job_call& c) {
    to.close_job(c.token);
    return {};
  }
  answer operator()(const policies::checkpoint_call& c) { return to.checkpoint(c); }
  answer operator()(const policies::follow_call& c) {
    to.follow(c);
    return {};
  }
  answer operator()(const policies::promote_call& c) {
    to.promote(c);
    return {};
  }
  // These answer later.
  answer operator()(const policies::open_table_call&) { return {}; }
  answer operator()(const policies::lead_call&) { return {}; }
};

}  // namespace

coordinator_process::coordinator_process(world& where, process_id id, std::uint32_t epoch,
                                         std::uint32_t incarnation)
    : frameless_process(where, id, role::coordinator, "coordinator", 0),
      disk_(where, *this, epoch),
      shell_(where.plan.spec, where.token, *this, disk_, disk_.recorded(), incarnation) {}

// A journal that cannot be made ends it before it listens.
void coordinator_process::start() {
  if (auto opened = disk_.open_journal(); !opened.ok()) return end(opened);
  shell_.begin();
}

actors::control_sender coordinator_process::from() const {
  return {world_.token, world_.whole(current_asker().id)};
}

control_peer coordinator_process::peer(process_id member) const {
  return {handle_of(member, current_asker().number), world_.whole(member)};
}

actors::reply_to coordinator_process::to_reply(answer_to reply) {
  return [reply = std::move(reply)](actors::control_reply got) {
    answer given{std::move(got.result), {}};
    std::visit([&](auto& value) { given.value = std::move(value); }, got.value);
    reply(std::move(given));
  };
}

void coordinator_process::shard_joined(std::uint32_t index, policies::group_member in_group,
                                       const std::string& address, process_id member,
                                       answer_to reply) {
  shell_.shard_joined(from(), index, in_group, address, peer(member),
                      to_reply(std::move(reply)));
}

void coordinator_process::aggregator_joined(const std::string& job, std::uint32_t index,
                                            std::uint32_t incarnation,
                                            const std::string& address, process_id member,
                                            answer_to reply) {
  shell_.aggregator_joined(from(), job, index, incarnation, address, peer(member),
                           to_reply(std::move(reply)));
}

void coordinator_process::worker_joined(const policies::worker_hello& hello, process_id member,
                                        answer_to reply) {
  const auto checked = [this, hello, reply = std::move(reply)](answer given) {
    if (given.result.ok())
      world_.check.journal().welcomed(hello.job, hello.rank, hello.incarnation);
    reply(std::move(given));
  };
  shell_.worker_joined(from(), hello, peer(member), to_reply(checked));
}

void coordinator_process::tell_of_moves(const policies::worker_hello& hello, process_id member,
                                        const answer_to& reply) {
  reply({});
  shell_.listen_for_moves(from(), hello.job, hello.rank, hello.incarnation, peer(member));
}

void coordinator_process::open_table(const policies::table_request& request, answer_to reply) {
  const auto checked = [this, job = request.job, reply = std::move(reply)](answer given) {
    if (const auto* grant = std::get_if<policies::table_grant>(&given.value);
        grant != nullptr && given.result.ok())
      world_.check.journal().granted(job, *grant);
    reply(std::move(given));
  };
  shell_.open_table(from(), request, to_reply(checked));
}

void coordinator_process::tables_opened(const std::string& job, std::uint32_t rank,
                                        const std::vector<std::uint32_t>& tables,
                                        answer_to reply) {
  shell_.tables_opened(from(), job, rank, tables, to_reply(std::move(reply)));
}

void coordinator_process::finished(const std::string& job, std::uint32_t rank,
                                   const policies::worker_progress& last,
                                   const std::string& digest, answer_to reply) {
  const auto checked = [this, job, rank, reply = std::move(reply)](answer given) {
    const bool is_to_hash =
        std::holds_alternative<std::vector<policies::table_grant>>(given.value);
    if (given.result.ok() && !is_to_hash) world_.check.journal().told_finished(job, rank);
    reply(std::move(given));
  };
  shell_.finished(from(), job, rank, last, digest, to_reply(checked));
}

void coordinator_process::scale(const std::string& job, std::uint32_t workers,
                                answer_to reply) {
  shell_.scale(from(), job, workers, to_reply(std::move(reply)));
}

void coordinator_process::scale_shards(std::uint32_t slots, answer_to reply) {
  shell_.scale_shards(from(), slots, to_reply(std::move(reply)));
}

void coordinator_process::host_joined(policies::shard_map::process joining,
                                      std::uint32_t incarnation,
                                      const std::vector<policies::hosted_member>& has,
                                      process_id member, answer_to reply) {
  shell_.host_joined(from(), joining, incarnation, has, peer(member),
                     to_reply(std::move(reply)));
}

void coordinator_process::member_gone(const policies::hosted_member& member) {
  shell_.member_gone(from(), member);
}

void coordinator_process::process_ended(const policies::process_name& name,
                                        std::uint32_t incarnation, answer_to reply) {
  shell_.process_ended(from(), name, incarnation, to_reply(std::move(reply)));
}

void coordinator_process::worker_leaves(const std::string& job, std::uint32_t rank,
                                        answer_to reply) {
  shell_.worker_leaves(from(), job, rank, to_reply(std::move(reply)));
}

void coordinator_process::fail_job(const std::string& job, const std::string& why,
                                   answer_to reply) {
  shell_.fail_job(from(), job, why, to_reply(std::move(reply)));
}

void coordinator_process::progress(const std::string& job, std::uint32_t rank,
                                   const policies::worker_progress& report) {
  shell_.progress(from(), job, rank, report);
}

void coordinator_process::part(const policies::checkpoint_report& report) {
  shell_.checkpoint_part(from(), report);
}

void coordinator_process::status(answer_to reply) {
  const auto checked = [this, reply = std::move(reply)](answer given) {
    if (const auto* status = std::get_if<policies::cluster_status>(&given.value);
        status != nullptr && given.result.ok())
      world_.check.journal().told_status(*status);
    reply(std::move(given));
  };
  shell_.status(from(), 0, to_reply(checked));
}

void coordinator_process::unreachable(const std::string& reporter,
                                      const std::vector<policies::unreachable_peer>& peers) {
  shell_.unreachable(from(), reporter, peers);
}

bool coordinator_process::all_done() const {
  const auto status = shell_.core().status(local_now(), 0);
  return std::all_of(status.jobs.begin(), status.jobs.end(),
                     [](const auto& job) { return job.state == policies::job_state::done; });
}

bool coordinator_process::has_finished(const std::string& worker) const {
  for (const auto& job : shell_.core().status(local_now(), 0).jobs)
    for (const auto rank : job.ranks_finished) {
      const policies::process_name finished{
          .role = policies::process_role::worker, .job = job.name, .index = rank};
      if (worker == finished.to_string()) return true;
    }
  return false;
}

void coordinator_process::note_waits() const {
  for (const auto& wait : shell_.core().status(local_now(), 0).waits)
    note(wait.waiter + " waits for " + wait.awaited);
}

void coordinator_process::stop() {
  stops_ = true;
  shell_.stop(from(), [](const actors::control_reply&) {});
}

// Of a part that ends alone the process says so over its connection.
void coordinator_process::peer_lost(process_id lost) {
  std::vector<std::pair<std::uint64_t, process_id>> handles;
  for (const auto& watched : watched_)
    if (member_of(watched.first) == lost) handles.push_back(watched);
  for (const auto& [handle, whole] : handles) {
    watched_.erase(handle);
    shell_.connection_lost(handle, whole == lost || !world_.net.lives(whole), "gone");
  }
}

bool coordinator_process::has_member(process_id whole) const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [whole](const auto& watched) { return watched.second == whole; });
}

void coordinator_process::control_broke(process_id lost, std::uint32_t number) {
  const auto handle = handle_of(lost, number);
  if (watched_.erase(handle) > 0) shell_.connection_lost(handle, true, "it broke");
}

// One that has ended since it sent its message is lost at once.
void coordinator_process::watch(const control_peer& member) {
  watched_.emplace(member.handle, static_cast<process_id>(member.process));
  const auto id = member_of(member.handle);
  if (!world_.net.lives(id)) later(0, [this, id] { peer_lost(id); });
}

void coordinator_process::call(const control_peer& to, policies::call_id call,
                               const policies::shard_call& content) {
  tell_over<endpoint_process>(
      member_of(to.handle), number_of(to.handle),
      [content, me = id()](endpoint_process& shard, const answer_to& reply) {
        if (!shard.obeys(me))
          return reply({{runtime::errc::unavailable, "another coordinator"}, {}});
        shard.in_order([&shard, content, reply] {
          if (const auto* lead = std::get_if<policies::lead_call>(&content))
            return shard.lead(*lead, reply);
          if (const auto* table = std::get_if<policies::open_table_call>(&content))
            return shard.open_table(*table, reply);
          reply(std::visit(called{shard}, content));
        });
      },
      [this, call](const answer& got) {
        actors::call_answer given{.result = got.result, .number = 0, .clocks = {}};
        if (const auto* number = std::get_if<std::uint64_t>(&got.value)) given.number = *number;
        if (const auto* clocks = std::get_if<std::vector<policies::chunk_clock>>(&got.value))
          given.clocks = *clocks;
        shell_.call_answered(call, given);
      });
}

void coordinator_process::tell(const control_peer& to, const policies::shard_moved& moved) {
  tell_over<process>(
      member_of(to.handle), number_of(to.handle),
      [moved](process& member, const answer_to&) {
        if (auto* const aggregator = dynamic_cast<endpoint_process*>(&member))
          aggregator->upstream_moved(moved);
        else
          dynamic_cast<worker&>(member).shard_moved(moved);
      },
      unheard);
}

void coordinator_process::tell(const control_peer& to, const policies::host_call& call) {
  tell_over<shard_host>(
      member_of(to.handle), number_of(to.handle),
      [call](shard_host& host, const answer_to&) { host.take(call); }, unheard);
}

void coordinator_process::stop(const control_peer& member) {
  tell_over<process>(
      member_of(member.handle), number_of(member.handle),
      [rests = stops_ && all_done()](process& stopped, const answer_to&) {
        if (auto* const host = dynamic_cast<shard_host*>(&stopped))
          host->stop(rests);
        else
          dynamic_cast<endpoint_process&>(stopped).stop(rests);
      },
      unheard);
}

void coordinator_process::expel(const control_peer& member, const runtime::status& why) {
  tell_over<process>(
      member_of(member.handle), number_of(member.handle),
      [why](process& expelled, const answer_to&) { expelled.expel(why.message()); }, unheard);
}

bool coordinator_process::may_live(const std::string& address) const {
  const bool is_here = world_.plan.spec.hosts.size() <= 1 || shares_memory_with(address);
  return !is_here || world_.net.lives(id_of(address));
}

void coordinator_process::look_in(std::int64_t pause_ns) {
  later(pause_ns, [this] { shell_.look(); });
}

void coordinator_process::end(const runtime::status& why) {
  host_processes::exits(world_, id(), why);
}

}  // namespace tidegate::sim
