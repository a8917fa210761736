// A simulated worker process: a session as actors/client offers it, and a program that trains
// with it. Gradients depend on the parameters that were read, the rank and the clock, so that
// whatever goes wrong shows. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "actors/client/session_shell.hpp"
#include "actors/client/worker_shell.hpp"
#include "launch/simulate/cluster/cluster_member.hpp"
#include "launch/simulate/cluster/frame_process.hpp"
#include "launch/simulate/cluster/program_spans.hpp"
#include "launch/simulate/cluster/session_times.hpp"
#include "launch/simulate/cluster/worker_keeping.hpp"
#include "launch/simulate/cluster/worker_tables.hpp"
#include "policies/protocol/double_buffer.hpp"

namespace tidegate::sim {

class coordinator_process;

class worker final : public frame_process,
                     private cluster_member,
                     private actors::worker_owner {
 public:
  worker(world& where, process_id id, std::uint32_t host, std::size_t job, std::uint32_t rank,
         std::uint32_t incarnation, kept_bytes memory);

  void start() override;
  // The coordinator's word.
  void shard_moved(const policies::shard_moved& move);
  // Its agent's word: what it has asked to be copied is at the launcher.
  void mirrored(std::uint64_t request);
  // The halves of a table's gradient, as shards of this host map them.
  std::vector<region> gradients_of(std::uint32_t table, bool on_device) const {
    return tables_.gradients_of(table, on_device);
  }

 private:
  using callback = std::function<void(policies::reply_code)>;

  // The session.
  using ended = std::function<void(policies::session_step)>;
  void join();
  void carry_out(actors::session_turn turn, ended then);
  void perform(const policies::session_step& step, answer_to back);
  void ask_coordinator(const policies::session_step& step, answer_to back);
  void attach(const policies::table_grant& grant, answer_to back);
  using start_of = std::function<runtime::errc(policies::worker_core&, policies::operation,
                                               policies::worker_effects&)>;
  void begin(const start_of& start, callback then);
  // Of all chunks or of these; rows that could not be read in place are pulled again.
  void pull(std::uint32_t table, policies::worker_core::extent wanted,
            const std::optional<std::vector<std::uint32_t>>& chunks, callback then);
  void ask_of_moves();
  void keep_state();
  void check_waiting() const;
  std::uint32_t half();

  // The program.
  void open_tables(std::size_t next);
  void run_clock();
  void pull_all(std::function<void()> then);
  void call_some(std::function<void()> then, std::size_t next = 0);
  void maybe_mistake();
  void compute();
  void write_and_push();
  // Keeps what the program keeps at this clock; the core hears of the first time.
  void keep();
  void note_push(std::vector<std::uint32_t> tables);
  void end_clock();
  void move_on(std::function<void()> then);
  // Until a push of this clock is within the credits.
  void await_room(std::function<void()> then);
  void tell_progress();
  void end();
  void finish();
  void give_up(const std::string& why);
  bool skips(std::uint32_t table) const;
  // What it pulls and pushes of the table in this clock; nothing: all.
  std::optional<worker_tables::ranges> ranges_of(std::uint32_t table) const;

  // What its shell asks of the session.
  void opened(std::uint32_t table) override;
  void done(policies::operation op, policies::reply_code code) override;
  void copied(std::uint64_t) override {}
  void progressed() override {}
  void failed(const runtime::status& why) override;

  void placed(const runtime::frame_header& header) override;
  void after_frame() override;
  void after_turn() override;
  void peer_lost(process_id peer) override { lost(peer); }
  void ask_to_join(process_id coordinator, answer_to back) override;
  void settled() override;
  void gave_up(const runtime::status& why) override;

  const policies::job_spec& spec_;
  const worker_script& script_;
  std::uint32_t rank_;
  std::uint32_t incarnation_;
  actors::session_shell session_;
  bool asks_to_join_ = false;
  worker_keeping keeping_;
  bool holds_ = false;    // pushes back, for what it keeps or wants to
  worker_tables tables_;  // before the shell, which reads it to its end
  std::unique_ptr<actors::worker_shell> shell_;
  policies::double_buffer half_;
  std::set<std::string_view> declared_;  // tables that the cluster knows beforehand
  std::vector<std::uint32_t> ids_;       // of the program's tables
  std::map<std::uint32_t, answer_to> opening_;
  std::map<policies::operation, callback> operations_;
  policies::operation last_operation_ = 0;
  std::uint64_t clock_ = 0;
  session_times times_;
  program_spans program_{*this};
  std::string reason_;  // to give up when the operation under way has ended
  bool ended_ = false;
};

}  // namespace tidegate::sim
