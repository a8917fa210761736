// The worker actor. Commands come from the session's thread, completions go back through
// pending_state.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/client/worker_shell.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/control/member_reports.hpp"
#include "actors/control/messages.hpp"
#include "actors/reactor/frame_mailbox.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "actors/session/device_commands.hpp"
#include "actors/session/pending_state.hpp"
#include "actors/session/session_state.hpp"
#include "actors/session/worker_command.hpp"
#include "actors/store/table_memory.hpp"
#include "policies/model/staleness_counts.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "runtime/base/trace_span.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

// Numbers that the session's thread may read at any time.
struct worker_numbers {
  std::atomic<std::uint64_t> pushes_under_way{0};
  std::atomic<std::uint64_t> room_below{0};  // clocks whose pushes are within the credit window
  std::atomic<std::uint64_t> staleness_max{0};
  std::array<std::atomic<std::uint64_t>, policies::staleness_ranges.size()> staleness{};
  // As trace_span::extra of a call.
  std::atomic<std::uint16_t> staleness_latest{runtime::unknown_staleness};
  std::atomic<std::uint64_t> payload_bytes_copied{0};  // by us, not by UCX or the kernel
  // By shard, as rank_arrivals; empty where there is one.
  struct answers {
    std::atomic<std::uint64_t> clocks{0};
    std::atomic<std::uint64_t> last{0};
    std::atomic<std::uint64_t> late_ns{0};
  };
  std::vector<answers> shards;

  // While nobody reads or writes them.
  void set_shards(std::size_t count) { shards = std::vector<answers>(count > 1 ? count : 0); }
  // Of the worker's thread. Who reads meanwhile may see a part of it.
  void set_answers(std::span<const policies::rank_arrivals> from) {
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      shards[shard].clocks.store(from[shard].clocks, std::memory_order_relaxed);
      shards[shard].last.store(from[shard].last, std::memory_order_relaxed);
      shards[shard].late_ns.store(from[shard].late_ns, std::memory_order_relaxed);
    }
  }
  std::vector<policies::rank_arrivals> answers_now() const {
    std::vector<policies::rank_arrivals> now(shards.size());
    for (std::size_t shard = 0; shard < shards.size(); ++shard)
      now[shard] = {.clocks = shards[shard].clocks.load(std::memory_order_relaxed),
                    .last = shards[shard].last.load(std::memory_order_relaxed),
                    .late_ns = shards[shard].late_ns.load(std::memory_order_relaxed)};
    return now;
  }
};

struct worker_identity {
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  policies::worker_welcome welcome;
  std::uint64_t run = 0;  // token
  std::string job;
  std::shared_ptr<coordinator_locator> coordinator;
  caf::actor watched;  // the job cannot go on without it: the coordinator, or its guide
  std::shared_ptr<worker_numbers> numbers;
  std::shared_ptr<session_state> state;  // has resumed
};

// The worker as a CAF actor on a session's reactor: hands on to its shell
// (actors/client/worker_shell.hpp) what its mailbox and its link bring, and turns commands of
// the session into operations.
class worker final : public reactor_actor<worker_actor::base>,
                     private worker_memory,
                     private worker_owner,
                     private device_commands::owner {
 public:
  worker(caf::actor_config& config, reactor& home, worker_identity identity);

  const char* name() const override { return "tidegate.worker"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  struct table_state {
    std::string name;
    std::shared_ptr<table_memory> memory;
    std::shared_ptr<worker_rows> rows;  // of a table of rows
    // Of pushes, by half; null: in place.
    std::array<const float*, policies::gradient_halves> gradients{};
    std::array<std::uint64_t, policies::gradient_halves> pushed_at{};  // clocks
    // Whether the halves of the host have what was pushed on the device, for a table there.
    std::array<bool, policies::gradient_halves> on_host{};
    bool pulls_on_device = false;  // the pull under way
    float* parameters = nullptr;   // of the pull under way, unless in place
    pending_ptr opened;
    runtime::call_wire function{};            // of the last call
    std::vector<runtime::call_wire> results;  // of it, by chunk
  };
  struct operation_state {
    worker_command_ptr command;
    std::uint64_t clock = 0;  // at which it began
  };

  void ask_of_moves();
  void on_command(const worker_command_ptr& item);
  void use_device(worker_command& command);
  void open(worker_command& command);
  void open_on_device(const worker_command_ptr& item);
  void take_memory(const worker_command& command, std::uint64_t clock);
  const float* take_gradient(const table_state& table, const worker_command& command);
  void write_ranges(const worker_command& push);
  void share_gradients(std::uint32_t table);
  runtime::status finish_pull(std::uint32_t table, std::vector<device_tables::mark>& after);
  void copy_ranges(const worker_command& pull);
  void forget_windows();
  void update_numbers();
  runtime::errc start(worker_command& command, policies::operation op);
  // "push of table 'w' at clock 3"
  std::string describe(const worker_command& command, std::uint64_t clock) const;

  runtime::place_wire place_of_gradients(std::uint32_t table) const override;
  std::span<std::byte> room_for(const policies::chunk_place& chunk,
                                std::uint32_t table) override;
  sent_payload payload_of(const policies::worker_effects::send& send,
                          std::optional<std::uint32_t> moves) override;
  std::optional<policies::sent_list> list_of(const policies::worker_effects::send& send,
                                             bool is_here) override;
  std::span<std::byte> room_for_results(const policies::chunk_place& chunk, std::uint32_t table,
                                        std::uint64_t bytes) override;
  runtime::status map_parameters(std::uint32_t table, const policies::table_part& part,
                                 std::uint32_t moves,
                                 std::span<const std::byte> place) override;
  std::span<const std::byte> device_gradients(std::uint32_t table) const override;
  runtime::status map_on_device(std::uint32_t table, const policies::table_part& part,
                                std::uint32_t moves,
                                std::span<const std::byte> places) override;
  std::uint64_t device_buffers(std::uint32_t table, std::uint32_t shard,
                               std::uint32_t moves) const override;
  bool pulls_on_device(std::uint32_t table) const override;
  bool works_by_itself() const override { return devices_.tables() != nullptr; }
  void begin(const worker_command_ptr& item) override;
  void refuse(const worker_command_ptr& item, const runtime::status& why) override;
  bool may_push(std::uint32_t table) const override;
  bool stage(std::span<const std::uint32_t> tables, const worker_command& command) override;
  std::span<float> host_gradient(std::uint32_t table, std::uint32_t half) override;
  runtime::status judge(std::uint32_t table, std::uint64_t element) override;
  void device_failed(const runtime::status& why) override { shell_.fail(why); }
  void on_shard_moved(const policies::shard_moved& moved);
  std::vector<device_tables::mark> bring_to_host();
  void opened(std::uint32_t table) override;
  void done(policies::operation op, policies::reply_code code) override;
  void copied(std::uint64_t bytes) override;
  void progressed() override { update_numbers(); }
  void answered(std::span<const policies::rank_arrivals> shards) override {
    identity_.numbers->set_answers(shards);
  }
  void report_unreachable(const unreachable_peers& peers) override {
    report_outages(identity_.coordinator, identity_.run, home().address(), peers);
  }
  void failed(const runtime::status& why) override;

  worker_identity identity_;
  std::map<std::uint32_t, table_state> tables_;
  // Of each shard, as mapped since it has moved so often.
  std::map<std::pair<std::uint32_t, std::uint32_t>, runtime::window_map> windows_;
  std::map<policies::operation, operation_state> operations_;
  policies::operation last_operation_ = 0;
  worker_shell shell_;
  std::unique_ptr<frame_mailbox> sink_;
  device_commands devices_;
  std::vector<const float*> host_parts_;  // of the pull that is being finished, by chunk
};

}  // namespace tidegate::actors
