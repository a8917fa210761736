#include "launch/simulate/cluster/process.hpp"

#include <utility>

#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/slowness.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds answer_timeout = second;  // of the launcher's questions

}  // namespace

world::world(const cluster_plan& drawn, std::uint64_t seed)
    : plan(drawn), chance(seed), net(time, chance, ~seed) {}

world::~world() {
  time.clear();
  net.clear();
}

process* world::find(process_id id) const {
  const auto at = processes_.find(id);
  return at == processes_.end() ? nullptr : at->second.get();
}

process_id world::add(std::function<std::unique_ptr<process>(process_id)> make) {
  const auto id = ++last_;
  auto process = make(id);
  net.join(id, *process, process->part_of());
  auto& started = *(processes_[id] = std::move(process));
  log.note(time.now(), started.name(), "starts");
  constexpr nanoseconds for_ever = 24 * 3600 * second;
  if (!plan.apart.empty())
    for (const auto& [other, process] : processes_) {
      if (plan.apart.contains({started.host(), process->host()}))
        net.break_connection(id, other, for_ever);
      if (plan.apart.contains({process->host(), started.host()}))
        net.break_connection(other, id, for_ever);
    }
  started.start();
  return id;
}

bool world::reaches(std::uint32_t from, std::uint32_t to) const {
  const auto is_out = [this](const std::map<std::uint32_t, nanoseconds>& hosts,
                             std::uint32_t host) {
    const auto at = hosts.find(host);
    return at != hosts.end() && at->second > time.now();
  };
  return !plan.apart.contains({from, to}) && !is_out(dead_hosts, from) &&
         !is_out(dead_hosts, to) && !is_out(cut_hosts, from) && !is_out(cut_hosts, to);
}

process_id world::whole(process_id id) const {
  const auto* process = find(id);
  return process && process->part_of() != 0 ? process->part_of() : id;
}

std::vector<process_id> world::all_of(process_id id) const {
  std::vector<process_id> all{id};
  for (const auto& [other, process] : processes_)
    if (id != 0 && process->part_of() == id) all.push_back(other);
  return all;
}

void world::kill(process_id id) {
  for (const auto number : all_of(whole(id))) end_part(number);
}

void world::end_part(process_id id) {
  if (auto* const ending = find(id)) ending->ends();
  const auto at = processes_.find(id);
  if (at == processes_.end()) return;
  log.note(time.now(), at->second->name(), "is gone");
  dead_[id] = at->second->address();
  graves_.push_back(std::move(at->second));
  processes_.erase(at);
  net.leave(id);
}

void world::later(process_id id, nanoseconds delay, std::function<void()> action) {
  time.after(delay, [this, id, action = std::move(action)]() mutable {
    net.run_at(id, [this, id, action = std::move(action)] {
      if (find(id)) action();
    });
  });
}

std::unique_ptr<disk_view> world::folder(const std::string& job) {
  auto& entry = disks[job];
  if (!entry) {
    entry = std::make_unique<disk>(chance);
    entry->faults = job.empty() ? plan.run_disk : plan.disk;
    entry->fill(disks_are_full_);
  }
  return std::make_unique<disk_view>(*entry);
}

void world::fill_disks(bool full) {
  if (std::exchange(disks_are_full_, full) != full)
    log.note(time.now(), "run folder", full ? "has no room" : "has room again");
  for (auto& [job, folder] : disks) folder->fill(full);
}

void world::kill_all(bool disks_crash) {
  while (!processes_.empty()) kill(processes_.begin()->first);
  if (!disks_crash) return;
  log.note(time.now(), "machines", "lose their power");
  for (auto& [job, disk] : disks) disk->crash();
}

process::process(world& where, process_id id, role kind, std::string name, std::uint32_t host)
    : world_(where), id_(id), role_(kind), name_(std::move(name)), host_(host) {
  const auto skew = where.plan.clock_skew;
  if (skew > 0)
    pace_ = 1 + skew * (2 * static_cast<double>(where.chance.below(1001)) / 1000 - 1);
}

process_id process::id_of(const std::string& address) {
  return address.empty() ? 0 : static_cast<process_id>(std::stoul(address));  // 0: nobody
}

bool process::shares_memory_with(const std::string& address) const {
  return world_.plan.windows && address.substr(address.find('@') + 1) == std::to_string(host_);
}

void process::fence(process_id id) const {
  const auto* other = world_.find(world_.whole(id));
  if (!other || !world_.plan.windows || other->host() != host_) return;
  note("ends " + other->name());
  world_.kill(id);
}

void process::later(nanoseconds delay, std::function<void()> action) {
  world_.later(id_, delay, std::move(action));
}

void process::ask_any(process_id to, question_at at, answer_to back) {
  const auto number = ++last_question_;
  auto& where = world_;
  const auto over = where.net.control_number(id_, to);
  open_[number] = {.to = to, .number = over, .back = std::move(back)};
  const auto me = id_;
  const auto reply = [&where, me, to, over, number](answer item) {
    where.net.tell(to, me, over, [&where, me, number, item = std::move(item)] {
      where.find(me)->answered(number, item);
    });
  };
  where.net.ask(
      id_, to,
      [&where, me, to, over, at = std::move(at), reply] {
        auto& target = *where.find(to);
        target.asker_ = {me, over};
        at(target, reply);
      },
      [this, number] {
        answered(number, {{runtime::errc::unavailable, "nobody is there"}, {}});
      });
  // Who is a member waits for an answer or for the end of whoever is asked, and for no time.
  if (role_ != role::launcher && role_ != role::agent) return;
  later(answer_timeout, [this, number] {
    answered(number, {{runtime::errc::timed_out, "no answer"}, {}});
  });
}

void process::tell_any(process_id to, std::uint32_t number, question_at at, answer_to back) {
  auto& where = world_;
  const auto me = id_;
  const auto reply = [&where, me, to, number, back = std::move(back)](const answer& item) {
    where.net.tell(to, me, number, [back, item] { back(item); });
  };
  where.net.tell(id_, to, number,
                 [&where, to, at = std::move(at), reply] { at(*where.find(to), reply); });
}

void process::tell_any_news(process_id to, std::function<void(process&)> at) {
  auto& where = world_;
  const asker me{.id = id_, .number = where.net.control_number(id_, to)};
  where.net.tell_news(id_, to, [&where, me, to, at = std::move(at)] {
    auto& target = *where.find(to);
    target.asker_ = me;
    at(target);
  });
}

void process::answered(std::uint64_t number, answer reply) {
  const auto at = open_.find(number);
  if (at == open_.end()) return;
  const auto back = std::move(at->second.back);
  open_.erase(at);
  back(std::move(reply));
}

void process::fail(const std::function<bool(const question&)>& is_lost) {
  std::vector<std::uint64_t> lost;
  for (const auto& [number, asked] : open_)
    if (is_lost(asked)) lost.push_back(number);
  for (const auto number : lost)
    answered(number, {{runtime::errc::unavailable, "the other side is gone"}, {}});
}

void process::on_peer_lost(process_id peer) {
  fail([peer](const question& entry) { return entry.to == peer; });
  peer_lost(peer);
}

void process::on_control_broke(process_id peer, std::uint32_t number) {
  fail([&](const question& entry) { return entry.to == peer && entry.number <= number; });
  control_broke(peer, number);
}

void process::expel(const std::string& why) {
  note(why);
  host_processes::exits(world_, id_, {runtime::errc::refused, why});
}

}  // namespace tidegate::sim
