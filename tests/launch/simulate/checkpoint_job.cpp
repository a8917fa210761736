#include "tests/launch/simulate/checkpoint_job.hpp"

#include <algorithm>
#include <cstring>

namespace tidegate::sim {

namespace {

using policies::optimizer_kind;
using runtime::mix64;

// Any number of [0, 1), with all its bits.
double fraction(std::uint64_t key) {
  return static_cast<double>(mix64(key) >> 11) * 0x1p-53;
}

}  // namespace

checkpoint_job::checkpoint_job(draws& chance)
    : seed_(chance.next()), workers_(chance.between<std::uint32_t>(1, 4)) {
  consistency_.kind = static_cast<policies::consistency_kind>(chance.below(3));
  const auto count = chance.between<std::uint32_t>(1, 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    job_table table;
    // Also names like those of chunks.
    table.name = chance.chance(0.2) ? "a/" + std::to_string(i) : "table " + std::to_string(i);
    table.elements = chance.between<std::uint64_t>(1, 300);
    table.chunk_elements = chance.between<std::uint64_t>((table.elements + 2) / 3, 300);
    table.optimizer = policies::default_optimizer(static_cast<optimizer_kind>(chance.below(6)));
    table.optimizer.learning_rate = static_cast<float>(fraction(chance.next()));
    tables_.push_back(std::move(table));
  }
}

std::uint32_t checkpoint_job::chunks() const noexcept {
  std::uint32_t sum = 0;
  for (const auto& table : tables_) sum += table.chunks();
  return sum;
}

policies::chunk_description checkpoint_job::describe(std::uint32_t table, std::uint32_t chunk,
                                                     std::uint64_t clock) const {
  const auto& from = tables_[table];
  const auto key = mix64(seed_ ^ mix64(clock * 64 + table * 8 + chunk));
  policies::chunk_description description;
  description.table = from.name;
  description.shape = {from.elements};
  description.chunk = chunk;
  description.first = chunk * from.chunk_elements;
  description.elements = std::min(from.chunk_elements, from.elements - description.first);
  description.optimizer = from.optimizer;
  description.version = clock;
  description.beta1_power = fraction(key);
  description.beta2_power =
      fraction(key + 1) * 0x1p-1030;  // it goes to zero, through subnormals
  for (std::uint32_t rank = 0; rank < workers_; ++rank) {
    const auto drawn = mix64(key + 2 + rank);
    const bool exact = consistency_.kind == policies::consistency_kind::bsp;
    description.ranks.push_back({clock + (exact ? 0 : drawn % 3), drawn % 8 == 0});
  }
  return description;
}

std::vector<float> checkpoint_job::values(std::uint32_t table, std::size_t array,
                                          std::uint64_t first, std::uint64_t count,
                                          std::uint64_t clock) const {
  const auto key = mix64(seed_ ^ mix64(clock * 64 + table * 8 + array));
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = runtime::uniform_signed(key, first + i);
  return values;
}

std::vector<shard_snapshot> checkpoint_job::cut(draws& chance, std::uint32_t shards,
                                                std::uint64_t clock) const {
  std::vector<shard_snapshot> snapshots(shards);
  std::uint32_t placed = 0;
  for (std::uint32_t t = 0; t < tables_.size(); ++t)
    for (std::uint32_t c = 0; c < tables_[t].chunks(); ++c, ++placed) {
      auto& shard = snapshots[placed < shards ? placed : chance.below(shards)];
      auto& image = shard.chunks.emplace_back();
      image.about = describe(t, c, clock);
      for (std::size_t a = 0; a < chunk_arrays(image.about); ++a) {
        shard.arrays.push_back(values(t, a, image.about.first, image.about.elements, clock));
        image.arrays[a] = shard.arrays.back();  // moving the vector does not move its floats
      }
    }
  return snapshots;
}

policies::checkpoint_manifest checkpoint_job::manifest(std::uint64_t clock) const {
  policies::checkpoint_manifest manifest;
  manifest.job = "job";
  manifest.seed = seed_;
  manifest.consistency = consistency_;
  manifest.workers = workers_;
  manifest.clock = clock;
  for (const auto& table : tables_)
    manifest.tables.push_back({table.name, {table.elements}, table.chunks()});
  return manifest;
}

std::vector<policies::chunk_run> checkpoint_job::runs(const shard_snapshot& shard) const {
  std::vector<policies::chunk_run> runs;
  for (const auto& image : shard.chunks) {
    const auto table = std::find_if(tables_.begin(), tables_.end(), [&](const auto& entry) {
      return entry.name == image.about.table;
    });
    runs.push_back({static_cast<std::uint32_t>(table - tables_.begin()), image.about.chunk, 1});
  }
  return runs;
}

std::string checkpoint_job::compare(const policies::checkpoint_reader& reader,
                                    runtime::storage& from, std::uint64_t clock) const {
  auto expected = manifest(clock);
  expected.id = reader.manifest().id;
  expected.parts = reader.manifest().parts;
  if (expected != reader.manifest()) return "the manifest is another one";
  for (std::uint32_t t = 0; t < tables_.size(); ++t) {
    const auto found = reader.chunks(t);
    for (std::uint32_t c = 0; c < tables_[t].chunks(); ++c)
      if (c >= found.size() || found[c].stored.about != describe(t, c, clock))
        return "table " + tables_[t].name + ": chunk " + std::to_string(c) + " is another one";
    const auto elements = tables_[t].elements;
    std::vector<float> read(elements);
    for (std::size_t a = 0; a <= policies::state_arrays(tables_[t].optimizer); ++a) {
      if (const auto result = reader.read(from, t, a, 0, read); !result)
        return result.code() == runtime::errc::unavailable ? "" : result.to_string();
      if (std::memcmp(read.data(), values(t, a, 0, elements, clock).data(),
                      elements * sizeof(float)) != 0)
        return "table " + tables_[t].name + ": array " + std::to_string(a) + " has other bits";
    }
  }
  return {};
}

}  // namespace tidegate::sim
