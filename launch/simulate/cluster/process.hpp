// A process of a simulated cluster, and the world that it lives in. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "launch/simulate/cluster/checker.hpp"
#include "launch/simulate/cluster/disk.hpp"
#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/noted_spans.hpp"
#include "launch/simulate/cluster/plan.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "launch/simulate/cluster/trace.hpp"
#include "policies/coordinator/core.hpp"
#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::sim {

class process;
class host_processes;
class slowness;

// Memory of an agent's that outlives the processes of a worker on its host.
using kept_bytes = std::shared_ptr<std::vector<std::byte>>;

// What a worker keeps, as the checker has heard it from the process before.
struct kept_record {
  // Epoch 0: there was none.
  std::uint32_t epoch = 0;
  // Clocks from which on something was kept: the first, and each at which it was lost.
  std::set<std::uint64_t> begun;
  // The epochs in which its clocks were last come to, by the first clock of each.
  std::map<std::uint64_t, std::uint32_t> epochs;
  bool is_lost = false;
  bool has_moved = false;  // since then, to a host that has nothing of it
  // The clock at which it went on after it has moved last.
  std::optional<std::uint64_t> moved_at;
};

struct world {
  world(const cluster_plan& drawn, std::uint64_t seed);
  // What is under way holds memory of processes.
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  const cluster_plan& plan;
  schedule time;
  draws chance;
  network net;
  checker check;
  trace log;
  std::uint64_t token = 1;                             // of the run
  std::map<std::string, std::unique_ptr<disk>> disks;  // folders, by job; "": of the run
  // What the coordinator of an epoch has made durable, by key.
  std::map<std::uint32_t, std::map<std::string, std::string>> journals;
  std::map<std::string, std::uint32_t> killed;  // how often, by name
  std::map<std::string, kept_record> kept;      // by name
  std::uint64_t commits = 0;                    // of workers' states
  std::uint32_t failed_writes =
      0;  // of journals and epochs, since the run was begun or resumed
  process_id launcher = 0;
  process_id coordinator = 0;
  std::unique_ptr<slowness> slow;                      // or null: nobody looks at attribution
  std::map<process_id, noted_spans>* spans = nullptr;  // or null: nobody notes anything
  // Until when hosts are as host_fault says, by number.
  std::map<std::uint32_t, nanoseconds> dead_hosts, cut_hosts;
  // Returns whether something of the one host reaches the other now.
  bool reaches(std::uint32_t from, std::uint32_t to) const;
  std::map<process_id, host_processes*> parents;  // of processes that were started and live
  std::map<process_id, runtime::status> left;     // by themselves: why
  // By shard, with the epoch of its frames: the latest that has heard of it.
  std::map<std::uint32_t, std::pair<std::uint64_t, process_id>> primaries;

  // Whether the links lose frames while their connections live: then processes ask again.
  bool loses_frames() const { return plan.faults.drop > 0 || plan.no_memory > 0; }

  // Null for one that is gone.
  process* find(process_id id) const;
  template <class Process>
  Process* find_as(process_id id) const {
    return dynamic_cast<Process*>(find(id));
  }
  // The address of a process that has ended, or null.
  const std::string* find_dead(process_id id) const {
    const auto at = dead_.find(id);
    return at == dead_.end() ? nullptr : &at->second;
  }
  process_id add(std::function<std::unique_ptr<process>(process_id)> make);
  // kill -9: at once and without a word. The whole process, of a part.
  void kill(process_id id);
  // A part of a process, alone.
  void end_part(process_id id);
  // The process that it is a part of, or itself.
  process_id whole(process_id id) const;
  // It, and its parts.
  std::vector<process_id> all_of(process_id id) const;
  // The coordinator of this epoch is started, for the first time or again.
  void begin_epoch(std::uint32_t epoch) {
    if (std::exchange(epoch_, epoch) != epoch) check.begin_epoch(epoch);
  }
  // As a process of now sees it.
  std::unique_ptr<disk_view> folder(const std::string& job);
  // The file system of the run folder, which has all its files, is full or has room again.
  void fill_disks(bool full);
  // Nothing fails by chance any more.
  bool faults_are_over() const noexcept { return time.now() >= plan.faults_end; }
  bool disks_are_full() const noexcept { return disks_are_full_; }
  // Every process dies, and the machines' disks lose what was not safe, if they crash too.
  void kill_all(bool disks_crash);
  // Runs there after a while, unless it is gone by then.
  void later(process_id id, nanoseconds delay, std::function<void()> action);
  const std::map<process_id, std::unique_ptr<process>>& processes() const { return processes_; }

 private:
  std::map<process_id, std::unique_ptr<process>> processes_;
  std::map<process_id, std::string> dead_;        // their addresses
  std::vector<std::unique_ptr<process>> graves_;  // who may be on the stack
  process_id last_ = 0;
  std::uint32_t epoch_ = 0;
  bool disks_are_full_ = false;
};

// What a question of the control plane comes back with.
struct answer {
  runtime::status result;
  std::variant<std::monostate, policies::worker_welcome, policies::table_grant,
               std::vector<policies::table_grant>, policies::cluster_status, std::uint64_t,
               std::vector<policies::chunk_clock>>
      value;
};
using answer_to = std::function<void(answer)>;

class process : public endpoint {
  friend class cluster_member;

 public:
  process(world& where, process_id id, role kind, std::string name, std::uint32_t host);

  process_id id() const noexcept { return id_; }
  role kind() const noexcept { return role_; }
  const std::string& name() const noexcept { return name_; }
  std::uint32_t host() const noexcept { return host_; }
  // One of several that die together; 0: none.
  process_id part_of() const noexcept { return part_of_; }
  void be_part_of(process_id whole) noexcept { part_of_ = whole; }
  // By which others reach it; with its host, as processes of one host share memory.
  std::string address() const { return std::to_string(id_) + "@" + std::to_string(host_); }
  static process_id id_of(const std::string& address);
  bool shares_memory_with(const std::string& address) const;
  // Ends a process of this host that has been taken for dead: it reads our memory.
  void fence(process_id id) const;

  // It has been stopped for so long, and goes on.
  void was_stopped(nanoseconds lasted) noexcept { stopped_ns_ += lasted; }
  policies::process_pressure pressure_of_process() const noexcept {
    return {.stopped_ns = static_cast<std::uint64_t>(stopped_ns_)};
  }

  virtual void start() = 0;
  // It is killed in this moment.
  virtual void ends() {}
  void on_peer_lost(process_id peer) final;
  void on_control_broke(process_id peer, std::uint32_t number) final;
  // Another has its place, or nobody lets it in: it ends.
  void expel(const std::string& why);

 protected:
  virtual void peer_lost(process_id peer) = 0;
  // The control connection to one that may live is.
  virtual void control_broke(process_id peer, std::uint32_t /*number*/) { peer_lost(peer); }
  // Asks another process: at(target, reply) runs there. `back` runs here, once, with the
  // answer, or with the reason why nobody answers.
  template <class Target>
  void ask(process_id to, std::function<void(Target&, answer_to)> at, answer_to back) {
    ask_any(
        to,
        [at = std::move(at)](process& target, answer_to reply) {
          at(dynamic_cast<Target&>(target), std::move(reply));
        },
        std::move(back));
  }
  // Tells another process something over the control connection of this number: it is lost
  // with the connection, and so is the answer.
  template <class Target>
  void tell_over(process_id to, std::uint32_t number,
                 std::function<void(Target&, answer_to)> at, answer_to back) {
    tell_any(
        to, number,
        [at = std::move(at)](process& target, answer_to reply) {
          at(dynamic_cast<Target&>(target), std::move(reply));
        },
        std::move(back));
  }
  // Tells another process what nobody decides by (network::tell_news).
  template <class Target>
  void tell_news(process_id to, std::function<void(Target&)> at) {
    tell_any_news(to,
                  [at = std::move(at)](process& target) { at(dynamic_cast<Target&>(target)); });
  }
  // Who asks what is being handled, over which control connection.
  struct asker {
    process_id id = 0;
    std::uint32_t number = 0;
  };
  const asker& current_asker() const noexcept { return asker_; }
  // Runs here after a while, unless this process has ended.
  void later(nanoseconds delay, std::function<void()> action);
  // By this process's own clock, which is not quite right.
  nanoseconds local_now() const {
    return static_cast<nanoseconds>(static_cast<double>(world_.time.now()) * pace_);
  }
  void note(const std::string& text) const { world_.log.note(world_.time.now(), name_, text); }

  world& world_;

 private:
  using question_at = std::function<void(process&, answer_to)>;
  void ask_any(process_id to, question_at at, answer_to back);
  void tell_any(process_id to, std::uint32_t number, question_at at, answer_to back);
  void tell_any_news(process_id to, std::function<void(process&)> at);
  void answered(std::uint64_t question, answer reply);

  struct question {
    process_id to = 0;
    std::uint32_t number = 0;  // of the control connection
    answer_to back;
  };
  void fail(const std::function<bool(const question&)>& is_lost);
  process_id id_;
  role role_;
  std::string name_;
  std::uint32_t host_;
  process_id part_of_ = 0;
  nanoseconds stopped_ns_ = 0;
  double pace_ = 1;
  std::map<std::uint64_t, question> open_;
  std::uint64_t last_question_ = 0;
  asker asker_;
};

// One of the control plane alone.
class frameless_process : public process {
 public:
  using process::process;

 private:
  runtime::buffer frame_arriving(process_id, const runtime::frame_header&) final { return {}; }
  void frame_arrived(process_id, const runtime::frame_header&, runtime::buffer) final {}
  void frame_lost(process_id, const runtime::frame_header&) final {}
  void frame_sent(std::uint64_t) final {}
  void connection_lost(connection_id, bool) final {}
};

}  // namespace tidegate::sim
