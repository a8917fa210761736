// The disk of a simulated machine: a folder in memory that keeps what was synced and, when the
// machine crashes, as much of the rest as it pleases. Processes have it as a storage
// (runtime/base/storage.hpp).
//
// Of bytes that were not synced a crash leaves none, some of the first, pages of 512 bytes here
// and there, bytes that nobody wrote, or all. Of names, what a journal in order leaves, or what
// one leaves that writes each change when it likes. A sync that fails has dropped its bytes,
// and the next one says all is well. Everything is drawn from the simulation's chance. One
// thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/simulate/cluster/draws.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::sim {

struct disk_faults {
  double fail_append = 0;  // some of the bytes are written, perhaps
  double fail_sync = 0;    // of a file or the folder
  double fail_rename = 0;  // it has not happened
  double fail_read = 0;
  std::uint64_t capacity_bytes = std::numeric_limits<std::uint64_t>::max();
};

class disk {
 public:
  explicit disk(draws& chance) : chance_(chance) {}

  disk_faults faults;

  // After this many more calls the machine is off: every call fails (unavailable) until
  // crash() or turn_on(). So what loops over the disk can be stopped in its middle.
  void turn_off_after(std::uint64_t calls) noexcept { calls_left_ = calls; }
  bool is_off() const noexcept { return calls_left_ == 0; }
  // It was the processes that stopped, not the machine: nothing is lost, nor safe that was not.
  void turn_on() noexcept { calls_left_ = std::numeric_limits<std::uint64_t>::max(); }
  // Nothing can be appended while it has no room, whatever its capacity.
  void fill(bool full) noexcept { is_full_ = full; }
  // The machine goes down and comes up again: what is there now is what a new life finds.
  void crash();
  // A bit of the medium. The file is there and not empty (asserted).
  void flip_bit(const std::string& name);

  std::uint64_t calls() const noexcept { return calls_; }
  std::uint64_t bytes_used() const noexcept;

 private:
  friend class disk_view;

  struct file {
    std::vector<std::byte> bytes;
    std::size_t durable = 0;  // of its bytes, the first
    bool dropped = false;     // a sync failed: no later one makes anything durable
  };
  using file_ptr = std::shared_ptr<file>;
  // What happened to names since they were synced.
  struct change {
    std::string name;
    file_ptr now;      // none: `was` is removed
    std::string from;  // of a rename
    file_ptr was;
  };

  bool fails(double probability) { return probability > 0 && chance_.chance(probability); }
  void keep_some_changes();
  void tear(file& torn);

  draws& chance_;
  std::map<std::string, file_ptr> names_;
  std::map<std::string, file_ptr> durable_names_;
  std::vector<change> changes_;
  std::uint64_t boot_ = 0;  // of the machine
  std::uint64_t calls_ = 0;
  std::uint64_t calls_left_ = std::numeric_limits<std::uint64_t>::max();
  bool is_full_ = false;
};

// The disk as one process has it. After a crash of the machine it answers nothing any more.
class disk_view final : public runtime::storage {
 public:
  explicit disk_view(disk& machine) : disk_(machine), boot_(machine.boot_) {}

  runtime::status create(const std::string& name) override;
  runtime::status append(const std::string& name, std::span<const std::byte> bytes) override;
  runtime::status sync(const std::string& name) override;
  runtime::status close(const std::string& name) override;
  runtime::status rename(const std::string& from, const std::string& to) override;
  runtime::status remove(const std::string& name) override;
  runtime::status sync_folder() override;
  runtime::expected<std::vector<std::string>> list() override;
  runtime::expected<std::uint64_t> size(const std::string& name) override;
  runtime::status read(const std::string& name, std::uint64_t offset,
                       std::span<std::byte> into) override;

 private:
  runtime::status begin(const std::string& name);
  runtime::expected<disk::file_ptr> find(const std::string& name);
  disk::file& opened(const std::string& name);

  disk& disk_;
  std::uint64_t boot_;
  std::map<std::string, disk::file_ptr> open_;  // also what others have renamed or removed
};

}  // namespace tidegate::sim
