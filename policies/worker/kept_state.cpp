#include "policies/worker/kept_state.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

// A version is a number of entries, and each of them two lengths, its name and its bytes; all
// begin at multiples of 8.
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t empty_bytes = word_bytes;

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + word_bytes - 1) / word_bytes * word_bytes;
}

constexpr std::size_t entry_bytes(std::size_t name, std::size_t bytes) noexcept {
  return 2 * word_bytes + padded(name) + padded(bytes);
}

void write_padded(state_versions& to, std::span<const std::byte> bytes) {
  const auto whole = bytes.size() / word_bytes * word_bytes;
  if (whole > 0) to.write(bytes.first(whole));
  if (whole == bytes.size()) return;
  std::array<std::byte, word_bytes> last{};
  std::memcpy(last.data(), bytes.data() + whole, bytes.size() - whole);
  to.write(last);
}

template <std::size_t Words>
void write_words(state_versions& to, const std::array<std::uint64_t, Words>& words) {
  to.write(std::as_bytes(std::span(words)));
}

// Reads what the two above have written; a checksum has vouched for it.
class version_reader {
 public:
  explicit version_reader(std::span<const std::byte> from) : left_(from) {}

  std::uint64_t word() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t length) {
    return take(padded(length)).first(length);
  }

 private:
  std::span<const std::byte> take(std::size_t length) {
    TIDEGATE_ASSERT(length <= left_.size(), "a version with its checksum is as it was written");
    const auto taken = left_.first(length);
    left_ = left_.subspan(length);
    return taken;
  }

  std::span<const std::byte> left_;
};

}  // namespace

void kept_state::resume(std::uint32_t epoch, std::uint64_t clock) {
  clock_ = committed_ = clock;
  bytes_ = empty_bytes;
  if (!versions_) return;
  const auto found = versions_->resume(epoch, clock);
  is_lost_ = found == state_found::lost;
  if (found != state_found::whole) return;
  read(versions_->found());
  is_used_ = true;
}

void kept_state::read(std::span<const std::byte> version) {
  version_reader from(version);
  for (auto left = from.word(); left > 0; --left) {
    const auto name_bytes = from.word();
    const auto length = from.word();
    const auto name = from.bytes(name_bytes);
    const auto bytes = from.bytes(length);
    entries_.emplace(std::string(reinterpret_cast<const char*>(name.data()), name.size()),
                     std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  bytes_ = reserved_ = version.size();
}

std::optional<std::uint64_t> kept_state::older_clock() const {
  return is_lost_ ? versions_->older_clock() : std::nullopt;
}

status kept_state::use_older(std::uint64_t clock) {
  if (!versions_) return missing_;
  if (!older_clock())
    return {errc::not_found, "no older state is there in the place of one that is lost"};
  if (auto open = may_change(clock); !open.ok()) return open;
  read(versions_->older());
  is_lost_ = false;
  is_used_ = true;
  return {};
}

status kept_state::usable() const {
  if (!versions_) return missing_;
  if (!is_lost_) return {};
  if (const auto older = versions_->older_clock())
    return {errc::unavailable,
            "the state of this worker at clock " + std::to_string(clock_) +
                " is lost with its host; that of clock " + std::to_string(*older) +
                " was copied before (jobs.*.state.mirror_every). Go on with that, or clear "
                "the state to begin with none"};
  return {errc::unavailable,
          "the state of this worker at clock " + std::to_string(clock_) +
              " is lost: the job has gone back to a checkpoint, `launch --resume` goes on with "
              "it, or the host of this worker was lost and nothing was copied "
              "(jobs.*.state.mirror_every); state lives as long as the launcher and the last "
              "clocks. Check for it, and clear the state to begin with none"};
}

status kept_state::may_change(std::uint64_t clock) const {
  if (committed_ <= clock) return {};
  return {errc::out_of_order,
          "the last push of clock " + std::to_string(clock) +
              " has left, and the state that belongs to it is committed: set state before "
              "waiting for that push, or after clock()"};
}

status kept_state::keep(std::string_view name, std::span<const std::byte> bytes,
                        std::uint64_t clock) {
  if (auto ready = usable(); !ready.ok()) return ready;
  if (name.empty() || name.size() > runtime::limits::name_bytes_max)
    return {errc::invalid_argument, "a name of state has 1 to " +
                                        std::to_string(runtime::limits::name_bytes_max) +
                                        " bytes; this one has " + std::to_string(name.size())};
  if (auto open = may_change(clock); !open.ok()) return open;
  const auto at = entries_.find(name);
  const auto before = at == entries_.end() ? 0 : entry_bytes(name.size(), at->second.size());
  const auto most = versions_->version_bytes();
  // A length near the largest number must not wrap.
  const auto added = bytes.size() > most ? most + 1 : entry_bytes(name.size(), bytes.size());
  const auto after = bytes_ - before + added;
  if (after > most)
    return {errc::over_limit,
            "'" + std::string(name) + "' has " + std::to_string(bytes.size()) +
                " bytes, and the state of this worker would take " + std::to_string(after) +
                "; jobs.*.state.max allows " + std::to_string(most)};
  if (after > reserved_) {
    if (auto reserved = versions_->reserve(after); !reserved.ok()) return reserved;
    reserved_ = after;
  }
  if (at == entries_.end())
    entries_.emplace(std::string(name), std::vector<std::byte>(bytes.begin(), bytes.end()));
  else
    at->second.assign(bytes.begin(), bytes.end());
  bytes_ = after;
  is_used_ = true;
  return {};
}

status kept_state::forget(std::string_view name, std::uint64_t clock) {
  if (auto ready = usable(); !ready.ok()) return ready;
  if (auto open = may_change(clock); !open.ok()) return open;
  const auto at = entries_.find(name);
  if (at == entries_.end()) return {};
  bytes_ -= entry_bytes(name.size(), at->second.size());
  entries_.erase(at);
  return {};
}

status kept_state::clear(std::uint64_t clock) {
  if (!versions_) return missing_;
  if (auto open = may_change(clock); !open.ok()) return open;
  if (reserved_ == 0) {
    if (auto reserved = versions_->reserve(empty_bytes); !reserved.ok()) return reserved;
    reserved_ = empty_bytes;
  }
  entries_.clear();
  bytes_ = empty_bytes;
  is_lost_ = false;
  is_used_ = true;  // of an earlier state nothing may come back
  return {};
}

std::optional<std::span<const std::byte>> kept_state::kept(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return {};
  return std::span<const std::byte>(at->second);
}

std::vector<std::string_view> kept_state::names() const {
  std::vector<std::string_view> all;
  for (const auto& [name, bytes] : entries_) all.emplace_back(name);
  return all;
}

bool kept_state::commit(std::uint64_t version) {
  committed_ = version;
  if (!is_used_) return false;
  const bool late = runtime::is_planted(runtime::planted_bug::state_one_version_late);
  versions_->begin_write(late ? version + 1 : version, bytes_);
  write_words<1>(*versions_, {entries_.size()});
  for (const auto& [name, bytes] : entries_) {
    write_words<2>(*versions_, {name.size(), bytes.size()});
    write_padded(*versions_, std::as_bytes(std::span(name)));
    write_padded(*versions_, bytes);
  }
  versions_->end_write();
  return true;
}

}  // namespace tidegate::policies
