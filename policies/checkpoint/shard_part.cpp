#include "policies/checkpoint/shard_part.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/checkpoint/writer.hpp"
#include "policies/model/clock_vector.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

bool shard_part::begin(const shard_file_title& title, std::uint64_t token, std::size_t chunks) {
  if (writing_) return false;
  title_ = title;
  token_ = token;
  missing_ = chunks;
  used_ = 0;
  return true;
}

const shard_part::room& shard_part::add(std::uint32_t table, chunk_description about,
                                        std::pmr::memory_resource* memory) {
  TIDEGATE_ASSERT(missing_ > 0 && !writing_, "a chunk of the part that is being taken");
  if (used_ == copies_.size()) copies_.emplace_back();
  auto& into = copies_[used_++];
  into.table = table;
  into.about = std::move(about);
  for (std::size_t i = 0; i < chunk_arrays(into.about); ++i) {
    auto& array = into.arrays[i];
    // A part that was given up may yet be copied to.
    if (array.use_count() != 1 || array->get_allocator().resource() != memory)
      array = std::make_shared<std::pmr::vector<float>>(memory);
    array->resize(stored_floats(into.about, i));
  }
  --missing_;
  return into.arrays;
}

runtime::expected<file_writer> shard_part::write() {
  TIDEGATE_ASSERT(missing_ == 0 && used_ > 0, "all chunks are there");
  std::vector<chunk_image> images;
  for (const auto& copied : std::span(copies_).first(used_)) {
    auto& image = images.emplace_back();
    image.about = copied.about;
    for (std::size_t i = 0; i < chunk_arrays(copied.about); ++i)
      image.arrays[i] = *copied.arrays[i];
  }
  auto writer = write_shard_file(title_, images);
  writing_ = writer.has_value();
  return writer;
}

void shard_part::retire() {
  missing_ = 0;
  if (writing_) return;
  used_ = 0;
  copies_ = {};
}

void shard_part::ended() {
  writing_ = false;
  for (auto& copied : copies_)
    for (auto& array : copied.arrays)
      if (array && array->get_allocator().resource() != std::pmr::get_default_resource())
        array.reset();
}

// Chunks of a table come in any order; the manifest has runs.
checkpoint_report shard_part::report() const {
  checkpoint_report report;
  report.token = token_;
  report.id = title_.id;
  report.shard = title_.shard;
  report.clock = clock_vector::infinity;
  std::map<std::uint32_t, std::vector<std::uint32_t>> chunks;
  std::uint64_t last = 0;
  for (const auto& copied : std::span(copies_).first(used_)) {
    chunks[copied.table].push_back(copied.about.chunk);
    report.needs_base |= copied.about.needs_base();
    for (const auto& rank : copied.about.ranks) {
      last = std::max(last, rank.next);
      if (!rank.finished) report.clock = std::min(report.clock, rank.next);
    }
  }
  if (report.clock == clock_vector::infinity) report.clock = last;  // all have finished
  for (auto& [table, indexes] : chunks) {
    std::sort(indexes.begin(), indexes.end());
    for (const auto index : indexes) {
      const bool follows = !report.chunks.empty() && report.chunks.back().table == table &&
                           report.chunks.back().first + report.chunks.back().count == index;
      if (follows)
        ++report.chunks.back().count;
      else
        report.chunks.push_back({table, index, 1});
    }
  }
  return report;
}

}  // namespace tidegate::policies
