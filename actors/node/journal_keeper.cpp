#include "actors/node/journal_keeper.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include "policies/placement/hosts.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/posix_storage.hpp"
#include "runtime/storage/sqlite_journal.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

runtime::status kept_journal::write(std::span<const policies::coordinator_record> records) {
  if (records.empty() || !file) return {};
  std::vector<runtime::journal_entry> entries;
  for (const auto& record : records) entries.push_back(policies::encode(record));
  return file->write(entries);
}

runtime::expected<kept_journal> open_journal(const policies::cluster_spec& cluster,
                                             const std::string& run_dir, std::uint32_t epoch) {
  kept_journal kept;
  if (run_dir.empty()) return kept;
  const auto path = run_dir + "/coordinator";
  auto folder = runtime::posix_storage::make(path);
  if (!folder) return runtime::fail(folder.error());
  char name[32];
  std::snprintf(name, sizeof name, "epoch-%04u.sqlite", epoch);
  const auto names = folder->list();
  if (!names) return runtime::fail(names.error());
  for (const auto& word : *names)
    if (!word.starts_with(name))
      if (const auto removed = folder->remove(word); !removed.ok())
        log::warn(removed.to_string());
  // When both are gone, whoever resumes the run begins an epoch without this journal.
  const auto end = policies::coordinator_is_beside_launcher(cluster)
                       ? runtime::journal_survives::process
                       : runtime::journal_survives::machine;
  auto file = runtime::sqlite_journal::open(path + "/" + name, end);
  if (!file) return runtime::fail(file.error());
  const auto entries = (*file)->read();
  if (!entries) return runtime::fail(entries.error());
  auto before = policies::decode_journal(cluster, *entries);
  if (!before) return runtime::fail(before.error());
  kept.file = std::move(*file);
  kept.before = std::move(*before);
  if (kept.before.run) log::info("goes on with the journal of the process before");
  return kept;
}

}  // namespace tidegate::actors
