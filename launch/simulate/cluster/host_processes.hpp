// The processes that an agent of a simulated host has started: the launcher's own, or one of
// another host. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/shell/host_port.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "runtime/base/mirror_request.hpp"

namespace tidegate::sim {

// The host of a process where no host is lost.
std::uint32_t home_of(const policies::cluster_spec& spec, const policies::process_name& name);

class host_processes final : public launch::process_port, public launch::survey_port {
 public:
  // Whose processes they are: the process of the agent.
  class owner {
   public:
    virtual ~owner() = default;
    virtual void after(nanoseconds delay, std::function<void()> action) = 0;
    virtual void happened(policies::agent_report report) = 0;
    virtual void all_ended() = 0;
    virtual bool is_over() const = 0;  // its work
    virtual process_id parent() const = 0;
  };

  // `host`: where they run; nothing: each at home. Both outlive it.
  host_processes(world& where, owner& of, std::optional<std::uint32_t> host)
      : world_(where), owner_(of), host_(host), spawns_to_fail_(where.plan.spawns_fail) {}

  // A process leaves by itself; `why`: ok with exit code 0.
  static void exits(world& where, process_id id, const runtime::status& why);
  // A worker asks for a copy of its state.
  static void asks_to_mirror(world& where, process_id id,
                             const runtime::mirror_request& request);
  // One of them is gone.
  void lost(process_id id);
  // Their agent is gone: so are they.
  void die();
  std::vector<process_id> children() const;

  // Names of those that live, or begin.
  std::set<std::string> living() const;
  bool has_spares() const { return !spares_.empty(); }

  runtime::expected<launch::spawned_process> spawn(
      const policies::agent_orders::start& start) override;
  runtime::status spawn_spare(const policies::agent_orders::start_spare& start) override;
  void end_spare(policies::spare_number number) override;
  void signal(const launch::launched_process& process,
              policies::process_signal content) override;
  void state_mirrored(const launch::launched_process& process, std::uint64_t number) override;
  std::vector<policies::agent_reports::spans> spans(std::size_t) override { return {}; }
  void end_all() override;
  std::vector<policies::beat_reading> beats() override { return {}; }
  void survey(const policies::agent_orders::survey& step) override;

 private:
  struct child {
    policies::process_name name;
    std::uint32_t incarnation = 1;
    process_id id = 0;  // 0: its program has not begun
    bool may_begin = true;
  };
  struct spare {
    std::string job;
    std::uint32_t host = 0;
    nanoseconds waits_at = 0;  // from when on
    bool can_copy = false;
  };

  std::uint32_t own_host() const { return host_.value_or(0); }
  void tell_survey(policies::agent_reports::surveyed report, nanoseconds after);
  void mirror(process_id id, const runtime::mirror_request& request);
  std::unique_ptr<process> make(process_id id, const policies::agent_orders::start& start);
  void begin(const policies::agent_orders::start& start);
  void end_spare_now(policies::spare_number number);
  std::optional<nanoseconds> take_spare(policies::spare_number number,
                                        const policies::process_name& name);

  world& world_;
  owner& owner_;
  std::optional<std::uint32_t> host_;
  std::map<policies::process_number, child> children_;
  std::map<policies::process_number, kept_bytes> memories_;  // of workers' states
  std::map<policies::spare_number, spare> spares_;           // that live and have no place
  std::set<policies::spare_number> spares_started_;
  std::set<policies::spare_number> spares_taken_;
  std::uint32_t spawns_to_fail_;
};

}  // namespace tidegate::sim
