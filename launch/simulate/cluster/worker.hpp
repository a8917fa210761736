// A simulated worker process: a session as actors/client offers it, and a program that trains
// with it. Gradients depend on the parameters that were read, the rank and the clock, so that
// whatever goes wrong shows. One thread.
#pragma once

#include <array>
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
#include "launch/simulate/cluster/front_memory.hpp"
#include "policies/protocol/gradient_half.hpp"

namespace tidegate::sim {

class coordinator_process;

class worker final : public frame_process,
                     private cluster_member,
                     private actors::worker_memory,
                     private actors::worker_owner {
 public:
  worker(world& where, process_id id, std::uint32_t host, std::size_t job, std::uint32_t rank,
         std::uint32_t incarnation);

  void start() override;
  // The coordinator's word.
  void shard_moved(const policies::shard_moved& move);
  // The halves of a table's gradient, as shards of this host map them.
  std::vector<region> gradients_of(std::uint32_t table) const {
    return tables_.at(table).halves;
  }

 private:
  struct chunk_source {
    // Of each process that its shard has been.
    std::map<std::uint32_t, front_memory::planes> mapped;
  };
  struct table_state {
    policies::table_grant grant;
    std::uint64_t number = 0;  // its place in the job, which stays in another epoch
    std::vector<region> halves;
    std::array<std::uint64_t, policies::gradient_halves> written{};  // in which clock
    region room;
    std::vector<chunk_source> sources;  // by chunk
    std::vector<float> parameters;      // as last read
  };
  using callback = std::function<void(policies::refusal)>;
  // What an operation pushes, and from where.
  struct push_under_way {
    std::vector<std::uint32_t> tables;
    std::uint32_t half = 0;
    std::uint64_t clock = 0;
    std::size_t acknowledged = 0;  // the first so many of `tables`
  };

  // The session.
  using ended = std::function<void(policies::session_step)>;
  void join();
  void carry_out(actors::session_turn turn, ended then);
  void perform(const policies::session_step& step, answer_to back);
  void ask_coordinator(const policies::session_step& step, answer_to back);
  void attach(const policies::table_grant& grant, answer_to back);
  void pull_to_end(std::uint32_t table, answer_to back);
  using start_of = std::function<runtime::errc(policies::worker_core&, policies::operation,
                                               policies::worker_effects&)>;
  void begin(const start_of& start, callback then);
  void ask_of_moves();
  void check_waiting() const;
  std::uint32_t half();

  // The program.
  void open_tables(std::size_t next);
  void run_clock();
  void pull_all(std::function<void()> then);
  void maybe_mistake();
  void read(std::uint64_t clock, bool everything, std::uint32_t table);
  void compute();
  void write_and_push();
  void write_gradient(table_state& table);
  void note_push(std::vector<std::uint32_t> tables);
  void spoil_pushed(policies::operation op);
  void spoil_exchanged();
  void spoil(const push_under_way& push);
  std::uint32_t life() const;
  void end_clock();
  void move_on(std::function<void()> then);
  // Until a push of this clock is within the credits.
  void await_room(std::function<void()> then);
  void tell_progress();
  void finish();
  void give_up(const std::string& why);
  bool skips(std::uint32_t table) const;
  memory_view chunk_values(const table_state& table, std::uint32_t chunk) const;

  // What its shell asks of the session.
  runtime::place_wire place_of_gradients(std::uint32_t table) const override;
  const float* gradient(std::uint32_t table, std::uint32_t half) const override;
  std::span<std::byte> room_for(const policies::chunk_place& chunk,
                                std::uint32_t table) override;
  runtime::status map_parameters(std::uint32_t table, const policies::table_part& part,
                                 std::uint32_t moves,
                                 std::span<const std::byte> place) override;
  void opened(std::uint32_t table) override;
  void done(policies::operation op, policies::refusal code) override;
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
  std::unique_ptr<actors::worker_shell> shell_;
  policies::gradient_half half_;
  std::map<std::uint32_t, table_state> tables_;
  std::size_t chunks_ = 0;               // of all of them
  std::set<std::string_view> declared_;  // tables that the cluster knows beforehand
  std::vector<std::uint32_t> ids_;       // of the program's tables
  std::map<std::uint32_t, answer_to> opening_;
  std::map<policies::operation, callback> operations_;
  std::map<policies::operation, push_under_way> pushing_;
  std::vector<push_under_way> exchanged_;  // of exchanges, which end before their pushes
  policies::operation last_operation_ = 0;
  std::uint64_t clock_ = 0;
  std::string reason_;  // to give up when the operation under way has ended
  bool ended_ = false;
};

}  // namespace tidegate::sim
