// Commands of a session whose tables are on a device, in their order: each waits until the
// program's stream has done what had been queued when the command came, and until gradients are
// where shards read them. So the cores behind it know nothing of devices.
//
// Of the reactor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
    // Returns true if a push of these tables needs them in host_gradient(), too, and notes that
    // they will be there.
    virtual bool stage(std::span<const std::uint32_t> tables, std::uint32_t half) = 0;
    virtual std::span<float> host_gradient(std::uint32_t table, std::uint32_t half) = 0;
    // Returns why this gradient is refused, whose element is not finite; ok: it is not.
    virtual runtime::status judge(std::uint32_t table, std::uint64_t element) = 0;
    virtual void device_failed(const runtime::status& why) = 0;
  };

  // All outlive it.
  device_commands(owner& of, reactor& home) : owner_(of), home_(home) {}
  ~device_commands() override { home_.forget(*this); }
  device_commands(const device_commands&) = delete;
  device_commands& operator=(const device_commands&) = delete;

  void use(std::shared_ptr<device_tables> tables) { tables_ = std::move(tables); }
  device_tables* tables() const noexcept { return tables_.get(); }
  bool has(std::uint32_t table) const { return tables_ && tables_->has(table); }

  // Begins the command when it is its turn. `checks`: gradients are looked at for NaN and
  // infinity.
  void hold(const worker_command_ptr& item, bool checks);
  // Calls `call` when the gradients of these pushes are in the host's memory, too, and all
  // commands before have begun.
  struct pushed_gradient {
    std::uint32_t table = 0;
    std::uint32_t half = 0;
  };
  void hold(std::span<const pushed_gradient> gradients, std::function<void()> call);
  // Completes the command when this work has ended.
  void complete(const worker_command_ptr& item, std::vector<device_tables::mark> after);
  void go_on() override;

 private:
  struct held {
    worker_command_ptr item;
    std::function<void()> call;  // in place of an item
    bool checks = false;
    bool is_brought = false;   // the gradient is being brought to where it is pushed from
    bool is_prepared = false;  // the work that goes before the command is queued
    std::vector<device_tables::mark> after;
  };
  struct ending {
    worker_command_ptr item;
    bool is_handed_out = false;  // parameters are on their way to the program's own memory
    std::vector<device_tables::mark> after;
  };

  std::vector<std::uint32_t> pushed_tables(const worker_command& command) const;
  runtime::status prepare(held& next);
  runtime::status bring(held& next);
  bool is_over(ending& item);
  bool are_over(std::vector<device_tables::mark>& marks);
  void begin_next();
  void begin(const held& next);
  void look_again();
  void fail(const runtime::status& why);

  owner& owner_;
  reactor& home_;
  std::shared_ptr<device_tables> tables_;
  runtime::fifo<held> held_;
  std::vector<ending> ending_;
  bool looks_ = false;
};

}  // namespace tidegate::actors
