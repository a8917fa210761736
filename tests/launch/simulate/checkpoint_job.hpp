// The job whose checkpoints are tested: which tables it has, and what is in them at a clock, as
// a pure function of it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launch/simulate/cluster/draws.hpp"
#include "policies/checkpoint/reader.hpp"
#include "policies/checkpoint/writer.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::sim {

// Chunks at a clock, as one shard has them.
struct shard_snapshot {
  std::vector<policies::chunk_image> chunks;
  std::vector<std::vector<float>> arrays;  // that the images show
};

class checkpoint_job {
 public:
  explicit checkpoint_job(draws& chance);

  // A cut at `clock`; chunks on shards as drawn, each shard with one at least.
  std::vector<shard_snapshot> cut(draws& chance, std::uint32_t shards,
                                  std::uint64_t clock) const;
  // All but what shards and the coordinator's catalog know.
  policies::checkpoint_manifest manifest(std::uint64_t clock) const;
  // What `shard` puts into it.
  std::vector<policies::chunk_run> runs(const shard_snapshot& shard) const;
  std::uint32_t chunks() const noexcept;

  // Why what `reader` finds is not the job at `clock`; empty: it is, to the last bit.
  std::string compare(const policies::checkpoint_reader& reader, runtime::storage& from,
                      std::uint64_t clock) const;

 private:
  struct job_table {
    std::string name;
    std::uint64_t elements = 0;
    std::uint64_t chunk_elements = 0;
    policies::optimizer_spec optimizer;

    std::uint32_t chunks() const noexcept {
      return static_cast<std::uint32_t>((elements + chunk_elements - 1) / chunk_elements);
    }
  };

  policies::chunk_description describe(std::uint32_t table, std::uint32_t chunk,
                                       std::uint64_t clock) const;
  std::vector<float> values(std::uint32_t table, std::size_t array, std::uint64_t first,
                            std::uint64_t count, std::uint64_t clock) const;

  std::uint64_t seed_;
  std::uint32_t workers_;
  policies::consistency_spec consistency_;
  std::vector<job_table> tables_;
};

}  // namespace tidegate::sim
