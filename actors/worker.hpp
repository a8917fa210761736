// The worker actor: carries out what policies::worker_core decides, on the reactor that owns
// its link. Commands come from the session's thread, completions go back through
// pending::state.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/coordinator_place.hpp"
#include "actors/frame_mailbox.hpp"
#include "actors/frame_sender.hpp"
#include "actors/messages.hpp"
#include "actors/pending_state.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/table_memory.hpp"
#include "policies/client_core.hpp"
#include "policies/gradient_half.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

struct worker_command {
  enum class what : std::uint8_t { open, push, pull, clock, room, exchange, finish };
  what kind = what::open;
  policies::table_grant grant;           // open
  std::shared_ptr<table_memory> memory;  // open
  std::uint32_t table = 0;
  std::vector<std::uint32_t> tables;  // exchange, pull: pulled ones
  const float* gradient = nullptr;    // push: all elements of the table; null: in place
  std::uint32_t half = 0;             // push, exchange: where in place is
  float* parameters = nullptr;        // pull: likewise
  policies::worker_core::extent extent = policies::worker_core::extent::as_policy;
  pending_ptr done;

  worker_command() = default;
  worker_command(worker_command&&) = default;
  worker_command& operator=(worker_command&&) = default;
  // A command that is dropped unread still ends.
  ~worker_command() {
    if (done) done->complete({runtime::errc::cancelled, "the session was closed"});
  }
};

// Numbers that the session's thread may read at any time.
struct worker_numbers {
  std::atomic<std::uint64_t> pushes_under_way{0};
  std::atomic<std::uint64_t> room_below{0};  // clocks whose pushes are within the credit window
  std::atomic<std::uint64_t> staleness_max{0};
  std::atomic<std::uint64_t> payload_bytes_copied{0};  // by us, not by UCX or the kernel
};

struct worker_identity {
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  policies::worker_welcome welcome;
  std::uint64_t run = 0;  // token
  std::string job;
  std::shared_ptr<coordinator_place> coordinator;
  caf::actor watched;  // the job cannot go on without it: the coordinator, or its guide
  std::shared_ptr<worker_numbers> numbers;
};

class worker final : public reactor_actor<worker_actor::base>,
                     public frame_mailbox::owner,
                     public policies::client_shell {
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
    // Of pushes, by half; null: in place.
    std::array<const float*, policies::gradient_halves> gradients{};
    float* parameters = nullptr;  // of the pull under way, unless in place
    runtime::place_wire place{};  // as sent to shards
    pending_ptr opened;
  };
  struct operation_state {
    worker_command_ptr command;
    std::uint64_t clock = 0;  // at which it began
  };

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override { sender_.on_sent(token); }
  void on_frame_lost(const runtime::frame_header& header) override;

  // Another may take the place of those that it pushes to.
  bool shards_move() const noexcept {
    return identity_.welcome.replicated || identity_.welcome.aggregated;
  }
  void look();
  void shard_moved(const policies::shard_moved& what);
  std::string name_of(std::uint32_t shard) const;
  void on_peer_lost(const peer_lost_event& event);
  void on_command(const worker_command_ptr& what);
  void open(worker_command& command);
  void take_memory(const worker_command& command);
  const float* take_gradient(const table_state& table, const worker_command& command);
  void on_frame(const frame_event& event);
  void finish_pull(std::uint32_t table);
  void forget_windows();
  void update_numbers();
  runtime::errc start(worker_command& command, policies::operation op);
  void send(std::uint32_t shard, const runtime::frame_header& header) override {
    sender_.send(shards_[shard], header);
  }
  void send_place(std::uint32_t shard, const runtime::frame_header& header) override;
  void send_gradient(const policies::worker_effects::send& what,
                     const runtime::frame_header& header, std::uint64_t priority) override;
  bool map_parameters(std::uint32_t table, const policies::table_part& part,
                      std::span<const std::byte> place) override;
  void opened(std::uint32_t table) override;
  void done(policies::operation op, policies::refusal code) override;
  void let_go() override;
  bool reconnect(std::uint32_t shard) override;
  void copied(std::uint64_t bytes) override;
  void carry_out();
  void fail_all(const runtime::status& why);
  // "push of table 'w' at clock 3"
  std::string describe(const worker_command& command, std::uint64_t clock) const;

  worker_identity identity_;
  frame_sender sender_;
  std::unique_ptr<frame_mailbox> sink_;
  policies::client_core core_;
  std::vector<std::string> addresses_;  // of shards
  std::vector<runtime::peer_id> shards_;
  std::map<std::uint32_t, table_state> tables_;
  // Of each shard, as mapped since it has moved so often.
  std::map<std::pair<std::uint32_t, std::uint32_t>, runtime::window_map> windows_;
  std::map<std::uint64_t, runtime::place_wire> answers_;  // to attach, as they arrive
  std::map<policies::operation, operation_state> operations_;
  policies::operation last_operation_ = 0;
  std::vector<runtime::send_token> dropped_;
  runtime::status broken_;  // why nothing works any more
};

}  // namespace tidegate::actors
