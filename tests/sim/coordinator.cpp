#include "tests/sim/coordinator.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "tests/sim/front.hpp"
#include "tests/sim/launcher.hpp"
#include "tests/sim/shard.hpp"
#include "tests/sim/shard_host.hpp"
#include "tests/sim/worker.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds disk_step_most = 2 * millisecond;

}  // namespace

coordinator_process::coordinator_process(world& where, process_id id, std::uint32_t epoch,
                                         std::uint32_t life)
    : frameless_process(where, id, role::coordinator, "coordinator", 0),
      epoch_(epoch),
      core_(where.plan.spec, where.token, restored(recorded().run.has_value()), recorded(),
            life) {
  for (auto& [job, kept] : keepers_) kept.catalog->begin_after(core_.last_checkpoint(job));
}

void coordinator_process::start() {
  core_.begin(local_now(), effects_);
  carry_out();
}

policies::recorded_cluster coordinator_process::recorded() {
  std::vector<runtime::journal_entry> entries;
  for (const auto& [key, value] : world_.journals[epoch_]) entries.push_back({key, value});
  auto found = policies::decode_journal(world_.plan.spec, entries);
  if (found) return *found;
  world_.check.fail("journal", found.error().to_string());
  return {};
}

// What a run that goes on begins with.
policies::restored_cluster coordinator_process::restored(bool goes_on) {
  policies::restored_cluster from;
  from.epoch = epoch_;
  for (const auto& job : world_.plan.spec.jobs) {
    if (!job.checkpoint) continue;
    auto& kept = keepers_[job.name];
    kept.folder = world_.folder(job.name);
    kept.catalog = std::make_unique<policies::checkpoint_catalog>(*kept.folder);
    if (goes_on) {
      if (!kept.catalog->tidy(job.checkpoint->keep, epoch_).ok()) note("the disk refuses");
      continue;
    }
    std::vector<std::string> findings;
    // A folder that cannot be synced ends a coordinator; here it is asked until it can.
    auto newest = kept.catalog->newest(findings);
    while (!newest) newest = kept.catalog->newest(findings);
    for (const auto& one : findings) note(one);
    if (!kept.catalog->tidy(job.checkpoint->keep, epoch_).ok()) note("the disk refuses");
    world_.check.goes_on_from(job.name,
                              *newest ? (*newest)->manifest().id : policies::checkpoint_id());
    if (!*newest) continue;
    auto& found = from.jobs[job.name];
    found.id = (*newest)->manifest().id;
    found.clock = (*newest)->manifest().clock;
    found.left = (*newest)->manifest().left;
    note("goes on from " + job.name + " " + to_string(found.id) + " clock " +
         std::to_string(found.clock));
    for (std::size_t i = 0; i < (*newest)->manifest().tables.size(); ++i) {
      const auto& table = (*newest)->manifest().tables[i];
      found.tables.push_back(
          {table.name, table.shape, (*newest)->chunks(i).front().stored.about.optimizer});
    }
  }
  return from;
}

void coordinator_process::begin_checkpoint(const std::string& job) {
  const auto id = keepers_.at(job).catalog->begin(epoch_);
  keepers_.at(job).begun = id;
  core_.checkpoint_begun(local_now(), job, id, effects_);
}

void coordinator_process::write_manifest(
    const policies::coordinator_effects::write_manifest& what) {
  auto writer = policies::write_manifest(what.manifest);
  if (!writer) {
    world_.check.fail("checkpoints", "no manifest: " + writer.error().to_string());
    return;
  }
  step(std::make_shared<policies::file_writer>(std::move(*writer)), what);
}

void coordinator_process::step(const std::shared_ptr<policies::file_writer>& writer,
                               const policies::coordinator_effects::write_manifest& what) {
  auto& kept = keepers_.at(what.manifest.job);
  if (kept.begun != what.manifest.id) return;  // given up meanwhile
  const auto progress = writer->step(*kept.folder);
  if (progress == policies::file_writer::progress::working)
    return later(world_.chance.between<nanoseconds>(0, disk_step_most),
                 [this, writer, what] { step(writer, what); });
  const bool done = progress == policies::file_writer::progress::done;
  if (done) {
    kept.catalog->add(what.manifest.id);
    world_.check.kept(what.manifest);
    if (!kept.catalog->tidy(what.keep, epoch_).ok()) note("the disk refuses");
  }
  core_.checkpoint_written(local_now(), what.manifest.job, what.manifest.id,
                           done ? runtime::status() : writer->error(), effects_);
  carry_out();
}

void coordinator_process::progress(const std::string& job, std::uint32_t rank,
                                   std::uint64_t clock) {
  policies::worker_progress report;
  report.clock = clock;
  core_.progress(local_now(), job, rank, report, effects_);
  carry_out();
}

void coordinator_process::part(const policies::checkpoint_report& report) {
  core_.checkpoint_part(local_now(), report, effects_);
  carry_out();
}

policies::ticket coordinator_process::wait(answer_to reply) {
  waiting_.emplace(++last_ticket_, std::move(reply));
  return last_ticket_;
}

void coordinator_process::shard_joined(std::uint32_t index, policies::group_member in_group,
                                       const std::string& address, process_id who,
                                       answer_to reply) {
  const auto id = wait(std::move(reply));
  if (core_.shard_joined(local_now(), index, address, id, effects_, in_group)) {
    if (const auto before = shards_.find({"", index, in_group.number}); before != shards_.end())
      members_.erase(before->second);
    shards_[{"", index, in_group.number}] = who;
    members_[who] = {"", index, false, false, in_group.number};
  }
  carry_out();
}

void coordinator_process::aggregator_joined(const std::string& job, std::uint32_t index,
                                            std::uint32_t incarnation,
                                            const std::string& address, process_id who,
                                            answer_to reply) {
  const auto id = wait(std::move(reply));
  if (core_.aggregator_joined(local_now(), job, index, address, id, effects_, incarnation)) {
    if (const auto before = shards_.find({job, index, 0}); before != shards_.end())
      members_.erase(before->second);
    shards_[{job, index, 0}] = who;
    members_[who] = {job, index, true, false, 0};
  }
  carry_out();
}

void coordinator_process::worker_joined(const policies::worker_hello& hello, process_id who,
                                        answer_to reply) {
  const auto id = wait(std::move(reply));
  if (core_.worker_joined(local_now(), hello, id, effects_))
    members_[who] = {hello.job, hello.rank, false, true, 0};
  carry_out();
}

void coordinator_process::tell_of_moves(const policies::worker_hello& worker, process_id who,
                                        answer_to reply) {
  reply({});
  auto& [latest, whom] = told_[{worker.job, worker.rank}];
  if (worker.incarnation < latest) return;
  latest = worker.incarnation;
  whom = who;
  core_.moves_of(worker.job, worker.rank, effects_);
  carry_out();
}

void coordinator_process::open_table(const policies::table_request& request, answer_to reply) {
  core_.open_table(request, wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_process::tables_opened(const std::string& job, std::uint32_t rank,
                                        const std::vector<std::uint32_t>& tables,
                                        answer_to reply) {
  core_.tables_opened(local_now(), job, rank, tables, effects_);
  carry_out([reply = std::move(reply)] { reply({}); });
}

void coordinator_process::finished(const std::string& job, std::uint32_t rank,
                                   const policies::worker_progress& last,
                                   const std::string& digest, answer_to reply) {
  if (digest.empty() && core_.is_to_hash(job, rank)) {
    const auto result = core_.may_tell_tables(job);
    if (!result.ok()) return carry_out([reply, result] { reply({result, {}}); });
    if (auto all = core_.tables(job); !all.empty())
      return carry_out([reply, all = std::move(all)] { reply({{}, all}); });
  }
  core_.worker_finished(local_now(), job, rank, last, digest, effects_);
  carry_out([reply = std::move(reply)] { reply({}); });
}

void coordinator_process::scale(const std::string& job, std::uint32_t workers,
                                answer_to reply) {
  const auto result = core_.scale(local_now(), job, workers, effects_);
  carry_out([reply = std::move(reply), result] { reply({result, {}}); });
}

void coordinator_process::scale_shards(std::uint32_t slots, answer_to reply) {
  const auto result = core_.scale_shards(local_now(), slots, effects_);
  carry_out([reply = std::move(reply), result] { reply({result, {}}); });
}

void coordinator_process::host_joined(policies::shard_slots::process which, std::uint32_t life,
                                      const std::vector<policies::hosted_member>& has,
                                      process_id who, answer_to reply) {
  const auto id = wait(std::move(reply));
  // What it is to have it is told at once.
  const auto before = hosts_[which];
  hosts_[which] = {life, who};
  if (!core_.host_joined(local_now(), which, life, has, id, effects_)) hosts_[which] = before;
  carry_out();
}

void coordinator_process::member_gone(const policies::hosted_member& which) {
  core_.member_gone(local_now(), which, effects_);
  carry_out();
}

bool coordinator_process::host_lost(process_id peer) {
  for (const auto& [which, known] : hosts_) {
    if (known.second != peer) continue;
    core_.host_lost(which, known.first);
    return true;
  }
  return false;
}

void coordinator_process::worker_leaves(const std::string& job, std::uint32_t rank,
                                        answer_to reply) {
  core_.worker_leaves(local_now(), job, rank, wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_process::fail_job(const std::string& job, const std::string& why,
                                   answer_to reply) {
  note("job " + job + " fails: " + why);
  core_.fail_job(local_now(), job, why, effects_);
  carry_out([reply = std::move(reply)] { reply({}); });
}

void coordinator_process::unreachable(const std::string& reporter,
                                      const std::vector<policies::unreachable_peer>& peers) {
  core_.unreachable(local_now(), reporter, peers);
}

void coordinator_process::status(answer_to reply) {
  core_.look_at_waits(local_now());
  carry_out([reply = std::move(reply), now = core_.status(local_now(), 0)] {
    reply({{}, now});
  });
}

bool coordinator_process::all_done() const {
  const auto status = core_.status(local_now(), 0);
  return std::all_of(status.jobs.begin(), status.jobs.end(),
                     [](const auto& job) { return job.state == policies::job_state::done; });
}

void coordinator_process::stop() {
  for (const auto& [which, known] : hosts_)
    ask<shard_host>(
        known.second,
        [done = all_done(), &where = world_](shard_host& to, const answer_to&) {
          for (const auto& [hosted, part] : to.parts())
            if (auto* one = where.find_as<front_process>(part); one && done) one->check_rest();
          launcher::of(where).exits(to.id(), true);
        },
        [](const answer&) {});
  for (const auto& [name, shard] : shards_)
    if (hosts_.empty() || !std::get<0>(name).empty())
      world_.net.ask(id(), shard,
                     [&where = world_, shard = shard, done = all_done()] {
                       auto* home = where.find_as<front_process>(shard);
                       if (home && done) home->check_rest();
                       if (home) launcher::of(where).exits(shard, true);
                     },
                     {});
  launcher::of(world_).exits(id(), true);
}

void coordinator_process::peer_lost(process_id peer) {
  if (host_lost(peer)) return;
  const auto at = members_.find(peer);
  if (at == members_.end()) return;
  const auto& lost = at->second;
  bool out = false;
  if (lost.works)
    core_.worker_lost(local_now(), lost.job, lost.index, "gone");
  else if (lost.aggregates)
    core_.aggregator_lost(local_now(), lost.job, lost.index, "gone", effects_);
  else
    out = core_.shard_lost(local_now(), lost.index, "gone", effects_, lost.in_group);
  // It may be back on another connection and not know that it has been taken for dead.
  if (out)
    ask<front_process>(
        peer,
        [](front_process& to, const answer_to&) { to.expel("the coordinator puts it out"); },
        [](const answer&) {});
  members_.erase(at);
  carry_out();
}

// Of a process that is gone by now nobody waits.
void coordinator_process::tell(const policies::coordinator_effects::tell_moved& what) {
  const auto done = [](const answer&) {};
  if (what.aggregates)
    return ask<front_process>(
        shards_.at({what.job, what.index, 0}),
        [moved = what.what](front_process& to, const answer_to& reply) {
          to.upstream_moved(moved);
          reply({});
        },
        done);
  const auto at = told_.find({what.job, what.index});
  if (at == told_.end()) return;  // it asks when it has been let in
  ask<worker>(
      at->second.second,
      [moved = what.what](worker& to, const answer_to& reply) {
        to.shard_moved(moved);
        reply({});
      },
      done);
}

void coordinator_process::call(process_id whom,
                               const policies::coordinator_effects::call_shard& what) {
  ask<front_process>(
      whom,
      [content = what.what, me = id()](front_process& to, const answer_to& reply) {
        if (!to.obeys(me))
          return reply({{runtime::errc::unavailable, "another coordinator"}, {}});
        if (const auto* lead = std::get_if<policies::lead_call>(&content))
          return to.lead(*lead, reply);
        struct {
          front_process& shard;
          answer operator()(const policies::open_job_call& c) {
            return {shard.open_job(c), {}};
          }
          answer operator()(const policies::open_table_call& c) {
            return {shard.open_table(c), {}};
          }
          answer operator()(const policies::admit_worker_call& c) { return shard.admit(c); }
          answer operator()(const policies::sum_progress_call& c) {
            return shard.sum_progress(c);
          }
          answer operator()(const policies::shut_out_call& c) { return shard.shut_out(c); }
          answer operator()(const policies::hold_call& c) { return shard.hold(c); }
          answer operator()(const policies::roster_call& c) { return shard.change_roster(c); }
          answer operator()(const policies::close_job_call& c) {
            shard.close_job(c.token);
            return {};
          }
          answer operator()(const policies::checkpoint_call& c) { return shard.checkpoint(c); }
          answer operator()(const policies::follow_call& c) {
            shard.follow(c);
            return {};
          }
          answer operator()(const policies::promote_call& c) {
            shard.promote(c);
            return {};
          }
          answer operator()(const policies::lead_call&) { return {}; }  // above
        } visitor{to};
        reply(std::visit(visitor, content));
      },
      [this, call = what.call](const answer& got) {
        const auto* first = std::get_if<std::uint64_t>(&got.value);
        const auto* clocks = std::get_if<std::vector<policies::chunk_clock>>(&got.value);
        core_.call_done(local_now(), call, got.result, effects_, first ? *first : 0,
                        clocks ? *clocks : std::vector<policies::chunk_clock>());
        carry_out();
      });
}

}  // namespace tidegate::sim
