// Commands of a session whose tables are on a device, in their order: each waits until the
// program's stream has done what had been queued when the command came, and until gradients are
// where shards read them. So the cores behind it know nothing of devices.
//
// Of the reactor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "actors/device/device_tables.hpp"
#include "actors/reactor/reactor.hpp"
#include "actors/seam/shell_home.hpp"
#include "actors/session/worker_command.hpp"
#include "runtime/base/status.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::actors {

class device_commands final : public continuation {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    // Begins a command, whose gradients are there.
    virtual void begin(const worker_command_ptr& item) = 0;
    // Completes a command that will not begin.
    virtual void refuse(const worker_command_ptr& item, const runtime::status& why) = 0;
    // Returns true if a push of this table would be in order by now.
    virtual bool may_push(std::uint32_t table) const = 0;
    // Returns true if the push of these tables by the command needs them in host_gradient(),
    // too, and notes that they will be there.
    virtual bool stage(std::span<const std::uint32_t> tables,
                       const worker_command& command) = 0;
    virtual std::span<float> host_gradient(std::uint32_t table, std::uint32_t half) = 0;
    // Returns why this gradient is refused, whose element is not finite.
    virtual runtime::status judge(std::uint32_t table, std::uint64_t element) = 0;
    // Ends everything: close() follows from within.
    virtual void device_failed(const runtime::status& why) = 0;
  };

  // All outlive it.
  device_commands(owner& of, reactor& home) : owner_(of), home_(home) {}
  device_commands(const device_commands&) = delete;
  device_commands& operator=(const device_commands&) = delete;

  void use(std::shared_ptr<device_tables> tables) { tables_ = std::move(tables); }
  device_tables* tables() const noexcept { return tables_.get(); }
  bool has(std::uint32_t table) const { return tables_ && tables_->has(table); }

  // Begins the command when it is its turn. `checks`: gradients are looked at for NaN and
  // infinity.
  void hold(const worker_command_ptr& item, bool checks);
  // When all commands before have begun, calls `work`, and `call` when the work that it has
  // queued has ended, or with the reason why nothing is done any more. No command after it
  // begins, or decides anything, before that.
  using queued_work = std::function<std::vector<device_tables::mark>()>;
  using next_call = std::function<void(const runtime::status&)>;
  void hold(queued_work work, next_call call);
  // Has later commands wait for what this stream is given from now on, and all of them for what
  // the one before has been given. Errors: invalid_argument (no stream of the device),
  // unavailable.
  runtime::status set_stream(std::uintptr_t handle);
  // Completes the command when this work has ended. No other begins before.
  void complete(const worker_command_ptr& item, std::vector<device_tables::mark> after);
  // Refuses all that waits, and whatever comes. Looks no more.
  void close(const runtime::status& why);
  void go_on() override;

 private:
  struct held {
    worker_command_ptr item;
    queued_work work;  // these two in place of an item
    next_call call;
    bool checks = false;
    bool is_brought = false;   // the gradient is being brought to where it is pushed from
    bool is_prepared = false;  // the work that goes before the command is queued
    bool is_checked = false;   // check() is among it
    std::vector<device_tables::mark> after;
  };
  struct ending {
    worker_command_ptr item;
    bool is_handed_out = false;  // parameters are on their way to the program's own memory
    std::vector<device_tables::mark> after;
  };

  void push(held next);
  std::vector<std::uint32_t> pushed_tables(const worker_command& command) const;
  bool is_in_order(const std::vector<std::uint32_t>& tables) const;
  runtime::expected<bool> bring(held& next);
  runtime::status prepare(held& next);
  runtime::status hand_out(ending& next);
  bool are_over(std::vector<device_tables::mark>& marks);
  runtime::status prepare_all();
  void begin_next();
  bool is_next_due();
  void begin(const held& next);
  void refuse(const held& next, const runtime::status& why);
  void look_again();

  owner& owner_;
  reactor& home_;
  std::shared_ptr<device_tables> tables_;
  runtime::fifo<held> held_;
  std::set<std::uint32_t> preparing_;  // tables whose push is being prepared
  std::vector<ending> ending_;
  bool looks_ = false;
  runtime::status closed_;
};

}  // namespace tidegate::actors
