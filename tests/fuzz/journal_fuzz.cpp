// Fuzz target: bytes of a disk through what reads the coordinator's journal.
//
// What decodes encodes to what decodes to the same, and a coordinator can go on with it;
// nothing may crash or ask for memory that a cluster could not have come to. Built with
// libFuzzer, ASan and UBSan (CMakeLists.txt).
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "policies/coordinator/core.hpp"
#include "runtime/base/assert.hpp"

namespace {

using namespace tidegate;
using runtime::journal_entry;

policies::cluster_spec cluster() {
  policies::cluster_spec spec;
  spec.name = "c";
  spec.shards = 2;
  spec.chunk_bytes = 64ULL << 20;  // few chunks, however large a table
  policies::job_spec job;
  job.name = "j";
  job.workers = 2;
  policies::table_spec table;
  table.name = "w";
  table.shape = {40};
  job.tables.push_back(table);
  job.checkpoint = policies::checkpoint_spec{10, 0, 1};
  spec.jobs.push_back(job);
  return spec;
}

std::map<std::string, std::string> right_journal() {
  policies::coordinator_core core(cluster(), 7, {3, {{"j", {{2, 9}, 40, {{"w", {40}, {}}}}}}});
  policies::coordinator_effects out;
  core.begin(1, out);
  core.shard_joined(1, 0, "s0", 1, out);
  core.shard_joined(1, 1, "s1", 2, out);
  core.worker_joined(1, {"j", 1, 1, "w1"}, 3, out);
  core.tables_opened(1, "j", 1, {0}, out);
  TIDEGATE_ASSERT(core.metric("j", "loss", 0.5, out).ok(), "a metric");
  core.fail_job(1, "j", "why", out);
  std::map<std::string, std::string> all;
  for (const auto& record : out.records) {
    const auto entry = encode(record);
    all[entry.key] = entry.value;
  }
  return all;
}

void read(const std::map<std::string, std::string>& journal) {
  std::vector<journal_entry> entries;
  for (const auto& [key, value] : journal) entries.push_back({key, value});
  const auto found = policies::decode_journal(cluster(), entries);
  if (!found) return;
  for (const auto& one : found->workers) {
    const auto entry = policies::encode(one);
    const auto again = policies::decode_entries({&entry, 1});
    TIDEGATE_ASSERT(again && policies::encode(again->workers.at(0)) == entry,
                    "encode inverts decode");
  }
  policies::coordinator_core core(cluster(), 7, {}, *found, 2);
  policies::coordinator_effects out;
  core.begin(1, out);
  core.shard_joined(1, 0, "s0", 1, out);
  core.shard_joined(1, 1, "s1", 2, out);
  core.worker_joined(1, {"j", 0, 9, "w0"}, 3, out);
  (void)core.status(1, 0);
}

}  // namespace

// The first byte chooses a record, the rest is its text; or changes of it, a place and a byte
// each.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto right = right_journal();
  if (size < 2) return 0;
  auto at = right.begin();
  std::advance(at, data[0] % right.size());
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto journal = right;
  journal[at->first] = text;
  read(journal);
  auto value = at->second;
  for (auto rest = text; rest.size() >= 2; rest.remove_prefix(2))
    value[static_cast<unsigned char>(rest[0]) % value.size()] = rest[1];
  journal[at->first] = value;
  read(journal);
  return 0;
}
