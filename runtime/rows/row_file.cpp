#include "runtime/rows/row_file.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr auto page_bytes = segment::page_bytes;
// Space is taken ahead, by an eighth of what there is, between these.
constexpr std::uint64_t ahead_least = 256U << 10U;
constexpr std::uint64_t ahead_most = 64U << 20U;
// Rows that are used at a time: of two blocks no more than a quarter of the memory.
constexpr std::uint64_t block_rows_max = 1024;
constexpr std::uint64_t blocks_in_memory = 8;

constexpr std::uint64_t pages_of(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes;
}

}  // namespace

expected<std::unique_ptr<row_file>> row_file::create(std::shared_ptr<row_memory> shared,
                                                     std::byte* memory,
                                                     const row_layout& layout) {
  auto file = backing_file::create(shared->options_.folder, layout.ids - layout.values);
  if (!file) return fail(file.error());
  auto* const mapped = memory + layout.values;
  if (!file->map_at(mapped)) return fail(errc::io_error, "no mapping is left for rows");
  return std::unique_ptr<row_file>(
      new row_file(std::move(shared), std::move(*file), mapped, layout));
}

row_file::row_file(std::shared_ptr<row_memory> shared, backing_file file, std::byte* mapped,
                   const row_layout& layout)
    : shared_(std::move(shared)),
      file_(std::move(file)),
      row_bytes_(layout.value_stride * sizeof(float)),
      block_rows_(static_cast<std::size_t>(std::clamp<std::uint64_t>(
          shared_->bytes_max() / page_bytes / blocks_in_memory / (row_bytes_ / page_bytes + 1),
          1, block_rows_max))),
      number_(shared_->add(file_, mapped)) {}

row_file::~row_file() {
  shared_->remove(number_, reserved_);
}

const status& row_file::failure() const noexcept {
  return shared_->failure();
}

// Where the disk has no room for what lies ahead, it may have for what is needed.
status row_file::reserve(std::uint64_t rows) {
  const auto needed = pages_of(rows * row_bytes_) * page_bytes;
  if (needed <= reserved_) return {};
  const auto ahead = std::clamp(reserved_ / 8, ahead_least, ahead_most);
  const auto wanted = std::min(needed + ahead, file_.size());
  auto taken = shared_->reserve(file_, reserved_, wanted - reserved_);
  if (taken.ok()) {
    reserved_ = wanted;
  } else if (needed < wanted) {
    taken = shared_->reserve(file_, reserved_, needed - reserved_);
    if (taken.ok()) reserved_ = needed;
  }
  return taken;
}

void row_file::use(std::span<const row_number> rows, access kind) {
  const bool writes = kind == access::writes;
  std::uint64_t end = 0;
  for (const auto row : rows) {
    if (row == no_row) continue;
    const auto first = row * row_bytes_ / page_bytes;
    const auto last = (row * row_bytes_ + row_bytes_ - 1) / page_bytes;
    TIDEGATE_ASSERT(last * page_bytes < reserved_, "rows that have space");
    shared_->use(number_, first, last - first + 1, writes);
    end = std::max(end, last + 1);
  }
  if (kind == access::scans) scanned_.push_back(shared_->absent());
  shared_->start_reading(number_, written_);
  if (writes) written_ = std::max(written_, end);
}

void row_file::end_use(access kind) {
  if (kind == access::scans) {
    auto pages = std::move(scanned_.front());
    scanned_.pop_front();
    // The next block may begin on the last page.
    if (!scanned_.empty() && !pages.empty()) {
      auto& next = scanned_.front();
      next.insert(next.begin(), pages.back());
      pages.pop_back();
    }
    shared_->let_go(number_, pages);
  }
  shared_->balance();
}

}  // namespace tidegate::runtime
