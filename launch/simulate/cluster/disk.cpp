#include "launch/simulate/cluster/disk.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

using runtime::errc;
using runtime::status;

namespace {

constexpr std::size_t page_bytes = 512;

status broken(const std::string& name, const char* subject) {
  return {errc::io_error, name + ": " + subject + ": the disk is broken"};
}

}  // namespace

status disk_view::begin(const std::string& name) {
  if (disk_.is_off() || boot_ != disk_.boot_)
    return {errc::unavailable, name + ": the machine is off"};
  --disk_.calls_left_;
  ++disk_.calls_;
  if (!runtime::is_file_name(name)) return {errc::invalid_argument, name + ": no name"};
  return {};
}

runtime::expected<disk::file_ptr> disk_view::find(const std::string& name) {
  if (auto begun = begin(name); !begun) return runtime::fail(std::move(begun));
  const auto found = disk_.names_.find(name);
  if (found == disk_.names_.end()) return runtime::fail(errc::not_found, name + ": not found");
  return found->second;
}

disk::file& disk_view::opened(const std::string& name) {
  const auto found = open_.find(name);
  TIDEGATE_ASSERT(found != open_.end(), "the file has been created here and not closed");
  return *found->second;
}

status disk_view::create(const std::string& name) {
  if (auto begun = begin(name); !begun) return begun;
  if (disk_.names_.contains(name)) return {errc::already_exists, name + ": is there already"};
  const auto file = std::make_shared<disk::file>();
  disk_.names_[name] = open_[name] = file;
  disk_.changes_.push_back({name, file, {}, {}});
  return {};
}

status disk_view::append(const std::string& name, std::span<const std::byte> bytes) {
  if (auto begun = begin(name); !begun) return begun;
  auto& into = opened(name).bytes;
  status result;
  const auto used = disk_.bytes_used();
  const auto capacity = disk_.is_full_ ? 0 : disk_.faults.capacity_bytes;
  const auto room = capacity - std::min(used, capacity);
  if (room < bytes.size()) {
    bytes = bytes.first(static_cast<std::size_t>(room));
    result = {errc::no_space, name + ": cannot be written: the disk is full"};
  } else if (disk_.fails(disk_.faults.fail_append)) {
    bytes = bytes.first(static_cast<std::size_t>(disk_.chance_.below(bytes.size() + 1)));
    result = broken(name, "cannot be written");
  }
  into.insert(into.end(), bytes.begin(), bytes.end());
  return result;
}

status disk_view::sync(const std::string& name) {
  if (auto begun = begin(name); !begun) return begun;
  auto& file = opened(name);
  if (disk_.fails(disk_.faults.fail_sync)) {
    file.dropped = true;
    return broken(name, "cannot be synced");
  }
  if (!file.dropped) file.durable = file.bytes.size();
  return {};
}

status disk_view::close(const std::string& name) {
  if (auto begun = begin(name); !begun) return begun;
  (void)opened(name);
  open_.erase(name);
  return {};
}

status disk_view::rename(const std::string& from, const std::string& to) {
  auto moved = find(from);
  if (!moved) return moved.error();
  if (!runtime::is_file_name(to)) return {errc::invalid_argument, to + ": no name"};
  TIDEGATE_ASSERT(!open_.contains(from) && !open_.contains(to), "closed before it is renamed");
  if (disk_.fails(disk_.faults.fail_rename)) return broken(from, "cannot be renamed");
  disk_.names_.erase(from);
  disk_.names_[to] = *moved;
  disk_.changes_.push_back({to, *moved, from, {}});
  return {};
}

status disk_view::remove(const std::string& name) {
  auto removed = find(name);
  if (!removed) return removed.error();
  open_.erase(name);
  disk_.names_.erase(name);
  disk_.changes_.push_back({name, {}, {}, *removed});
  return {};
}

status disk_view::sync_folder() {
  if (auto begun = begin("folder"); !begun) return begun;
  if (disk_.fails(disk_.faults.fail_sync)) return broken("folder", "cannot be synced");
  disk_.durable_names_ = disk_.names_;
  disk_.changes_.clear();
  return {};
}

runtime::expected<std::vector<std::string>> disk_view::list() {
  if (auto begun = begin("folder"); !begun) return runtime::fail(std::move(begun));
  std::vector<std::string> all;
  for (const auto& [name, file] : disk_.names_) all.push_back(name);
  return all;
}

runtime::expected<std::uint64_t> disk_view::size(const std::string& name) {
  return find(name).map(
      [](const disk::file_ptr& file) { return std::uint64_t{file->bytes.size()}; });
}

status disk_view::read(const std::string& name, std::uint64_t offset,
                       std::span<std::byte> into) {
  const auto found = find(name);
  if (!found) return found.error();
  if (disk_.fails(disk_.faults.fail_read)) return broken(name, "cannot be read");
  const auto& bytes = (*found)->bytes;
  if (offset > bytes.size() || bytes.size() - offset < into.size())
    return {errc::corrupt, name + ": ends at byte " + std::to_string(bytes.size())};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  return {};
}

std::uint64_t disk::bytes_used() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [name, content] : names_) sum += content->bytes.size();
  return sum;
}

void disk::crash() {
  keep_some_changes();
  names_ = durable_names_;
  for (auto& [name, content] : names_) tear(*content);
  ++boot_;
  turn_on();
}

// A journal writes changes in their order and loses the last; others write each for itself.
void disk::keep_some_changes() {
  const bool in_order = chance_.chance(0.5);
  const auto kept = in_order ? chance_.below(changes_.size() + 1) : changes_.size();
  for (std::size_t i = 0; i < kept; ++i) {
    const auto& logged = changes_[i];
    if (!in_order && chance_.chance(0.5)) continue;
    const auto old = durable_names_.find(logged.now ? logged.from : logged.name);
    const auto& gone = logged.now ? logged.now : logged.was;
    if (old != durable_names_.end() && old->second == gone) durable_names_.erase(old);
    if (logged.now) durable_names_[logged.name] = logged.now;
  }
  changes_.clear();
}

void disk::tear(file& torn) {
  const auto synced = torn.durable;
  auto& bytes = torn.bytes;
  if (bytes.size() > synced) {
    const auto mode = chance_.below(5);
    if (mode == 0) bytes.resize(synced);
    if (mode == 1 || mode == 2)
      bytes.resize(chance_.between<std::size_t>(synced, bytes.size()));
    const auto last_page = bytes.size() - std::min(bytes.size() - synced, page_bytes);
    if (mode == 2)
      for (auto i = last_page; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(chance_.below(256));
    if (mode == 3)  // the size is written before the pages are
      for (auto page = synced; page < bytes.size(); page += page_bytes)
        if (chance_.chance(0.5))
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page),
                      std::min(page_bytes, bytes.size() - page), std::byte{0});
  }
  torn.durable = bytes.size();
  torn.dropped = false;
}

void disk::flip_bit(const std::string& name) {
  auto& bytes = names_.at(name)->bytes;
  TIDEGATE_ASSERT(!bytes.empty(), "there is a bit");
  const auto bit = chance_.below(bytes.size() * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

}  // namespace tidegate::sim
