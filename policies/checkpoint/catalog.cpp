#include "policies/checkpoint/catalog.hpp"

#include <algorithm>
#include <iterator>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/sha256.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::fail;
using runtime::is_planted;
using runtime::planted_bug;
using runtime::status;
using runtime::storage;

namespace {

status check_hash(storage& from, const written_file& file, std::vector<std::byte>& buffer) {
  runtime::sha256 hash;
  for (std::uint64_t at = 0; at < file.bytes; at += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(
        std::min<std::uint64_t>(file.bytes - at, file_piece_bytes_max)));
    if (auto read = from.read(file.name, at, buffer); !read) return read;
    hash.update(buffer);
  }
  if (hash.finish() == file.sha256 || is_planted(planted_bug::checkpoint_hash_not_checked))
    return {};
  return {errc::corrupt, file.name + ": its bytes have changed (SHA-256)"};
}

}  // namespace

runtime::expected<checkpoint_reader> open_checkpoint(storage& folder, checkpoint_id id) {
  auto manifest = read_manifest(folder, id);
  if (!manifest) return fail(manifest.error());
  return checkpoint_reader::open(folder, std::move(*manifest));
}

runtime::expected<std::vector<std::string>> checkpoint_catalog::list() {
  auto names = folder_.list();
  if (!names) return names;
  for (const auto& name : *names)
    if (const auto file = parse_checkpoint_file(name))
      last_number_ = std::max(last_number_, file->id.number);
  return names;
}

runtime::expected<std::optional<checkpoint_reader>> checkpoint_catalog::newest(
    std::vector<std::string>& findings) {
  // A process that died may have left names that a crash of the machine would take back;
  // whoever goes on from what it finds here must find it again.
  if (!is_planted(planted_bug::checkpoint_believed_before_synced))
    if (auto synced = folder_.sync_folder(); !synced) return fail(std::move(synced));
  const auto manifests = ids();
  if (!manifests) return fail(manifests.error());
  hashed_files hashed;
  for (const auto id : *manifests) {
    auto whole =
        folder_.vouches_for_bytes() ? open_checkpoint(folder_, id) : verify(id, hashed);
    if (whole) {
      whole_.insert(id);
      return std::optional(std::move(*whole));
    }
    whole_.erase(id);
    // One that a store does not hand out is not damaged, and an older one no substitute.
    if (whole.error().code() == errc::unavailable || whole.error().code() == errc::refused)
      return fail(whole.error());
    findings.push_back("checkpoint " + to_string(id) +
                       " cannot be used: " + whole.error().to_string());
  }
  return std::optional<checkpoint_reader>();
}

runtime::expected<std::vector<checkpoint_id>> checkpoint_catalog::ids() {
  const auto names = list();
  if (!names) return fail(names.error());
  std::vector<checkpoint_id> ids;
  for (const auto& name : *names)
    if (const auto file = parse_checkpoint_file(name);
        file && file->is_manifest && !file->is_temporary)
      ids.push_back(file->id);
  std::sort(ids.rbegin(), ids.rend());
  return ids;
}

runtime::expected<checkpoint_reader> checkpoint_catalog::verify(checkpoint_id id) {
  hashed_files hashed;
  return verify(id, hashed);
}

runtime::expected<checkpoint_reader> checkpoint_catalog::verify(checkpoint_id id,
                                                                hashed_files& hashed) {
  auto manifest = read_manifest(folder_, id);
  if (!manifest) return fail(manifest.error());
  auto reader = checkpoint_reader::open(folder_, std::move(*manifest));
  if (!reader) return reader;
  std::vector<std::byte> buffer;
  for (const auto* read = &*reader; read != nullptr; read = read->base())
    for (const auto& part : read->manifest().parts) {
      const auto [known, fresh] = hashed.try_emplace({part.file.name, part.file.sha256});
      if (fresh) known->second = check_hash(folder_, part.file, buffer);
      auto right = known->second;
      // What could not be read may be read the next time.
      if (!right.ok() && right.code() != errc::corrupt) hashed.erase(known);
      if (!right.ok()) return fail(std::move(right));
    }
  return reader;
}

checkpoint_id checkpoint_catalog::begin(std::uint32_t epoch) {
  in_flight_ = checkpoint_id{epoch, ++last_number_};
  return *in_flight_;
}

void checkpoint_catalog::add(checkpoint_id id, checkpoint_id base) {
  TIDEGATE_ASSERT(in_flight_ == id, "it was begun last");
  bases_[id] = base;
  in_flight_.reset();
  whole_.insert(id);
}

bool checkpoint_catalog::is_needless(checkpoint_id id, std::uint32_t keep) const {
  auto newer = static_cast<std::uint64_t>(std::distance(whole_.upper_bound(id), whole_.end()));
  if (is_planted(planted_bug::checkpoint_pruned_too_early)) ++newer;
  return newer >= keep;
}

// One that is damaged, or gone, needs no other.
runtime::expected<checkpoint_id> checkpoint_catalog::base_of(checkpoint_id id) {
  if (is_planted(planted_bug::checkpoint_base_removed)) return checkpoint_id();
  const auto known = bases_.find(id);
  if (known != bases_.end()) return known->second;
  const auto manifest = read_manifest(folder_, id);
  if (!manifest && manifest.error().code() != errc::corrupt &&
      manifest.error().code() != errc::not_found)
    return fail(manifest.error());
  return bases_[id] = manifest ? manifest->base : checkpoint_id();
}

status checkpoint_catalog::tidy(std::uint32_t keep, std::uint32_t epoch) {
  TIDEGATE_ASSERT(keep >= 1, "a checkpoint is kept");
  // Whatever may still become a checkpoint is not before this. It is known before the names
  // are: those that are listed may be of a round that the owner of a copy has begun since.
  const auto end = in_flight_.value_or(checkpoint_id{epoch, last_number_ + 1});
  const auto names = list();
  if (!names) return names.error();
  std::set<checkpoint_id> all, kept;
  for (const auto& name : *names)
    if (const auto file = parse_checkpoint_file(name);
        file && file->is_manifest && !file->is_temporary)
      all.insert(file->id);
  for (const auto id : all) {
    if (id < end && is_needless(id, keep)) continue;
    // With all that it needs.
    for (auto needed = id; needed.number > 0 && kept.insert(needed).second;) {
      const auto base = base_of(needed);
      if (!base) return base.error();
      needed = *base;
    }
  }
  std::vector<std::string> manifests;
  // Those first that need others, so that none is without its base where a removal fails.
  std::for_each(all.rbegin(), all.rend(), [&](checkpoint_id id) {
    if (!kept.contains(id)) manifests.push_back(manifest_name(id));
  });
  std::erase_if(bases_, [&](const auto& entry) { return !kept.contains(entry.first); });
  // Manifests first, and durably: what has one is whole.
  for (const auto& name : manifests)
    if (auto removed = folder_.remove(name); !removed) return removed;
  if (!manifests.empty())
    if (auto synced = folder_.sync_folder(); !synced) return synced;
  bool removed_some = false;
  for (const auto& name : *names) {
    const auto file = parse_checkpoint_file(name);
    if (!file || file->id >= end) continue;
    const bool is_part = !file->is_temporary && (file->is_manifest || kept.contains(file->id));
    if (is_part) continue;
    removed_some = true;
    if (auto removed = folder_.remove(name); !removed) return removed;
  }
  return removed_some ? folder_.sync_folder() : status();
}

}  // namespace tidegate::policies
