#include "runtime/rows/row_memory.hpp"

#include <algorithm>
#include <bit>

namespace tidegate::runtime {

namespace {

constexpr auto page_bytes = segment::page_bytes;
constexpr auto block_bytes = rows::block_pages * page_bytes;

// Calls visit(first, count) for each run of pages that lie side by side.
template <class Visit>
void for_runs(rows::page_mask pages, const Visit& visit) {
  std::uint32_t left = pages;
  while (left != 0) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(left));
    const auto count = static_cast<std::uint32_t>(std::countr_one(left >> first));
    visit(first, count);
    left &= ~(((1U << count) - 1U) << first);
  }
}

}  // namespace

expected<std::shared_ptr<row_memory>> row_memory::create(const row_memory_options& options) {
  if (auto good = backing_file::check_folder(options.folder); !good.ok())
    return fail(good.code(), "table " + options.table + ", whose rows are to lie on a disk: " +
                                 good.message() + " (cluster.rows_dir says where)");
  return std::shared_ptr<row_memory>(new row_memory(options));
}

row_memory::row_memory(const row_memory_options& options)
    : options_(options), clock_(std::max<std::uint64_t>(options.bytes / page_bytes, 1)) {}

row_memory::figures row_memory::so_far() const noexcept {
  return {.bytes = clock_.pages() * page_bytes,
          .bytes_read = bytes_read_,
          .bytes_dropped = clock_.dropped() * page_bytes,
          .bytes_reserved = bytes_reserved_};
}

std::uint32_t row_memory::add(const backing_file& file, std::byte* mapped) {
  const auto number = clock_.add_file();
  if (number >= files_.size()) files_.resize(number + 1);
  files_[number] = {.file = &file, .mapped = mapped};
  return number;
}

void row_memory::remove(std::uint32_t number, std::uint64_t reserved) {
  clock_.remove_file(number);
  files_[number] = {};
  bytes_reserved_ -= reserved;
}

status row_memory::reserve(const backing_file& file, std::uint64_t offset,
                           std::uint64_t bytes) {
  auto reserved = file.reserve(offset, bytes);
  if (reserved.ok()) {
    bytes_reserved_ += bytes;
    return {};
  }
  const auto& [table, folder, memory] = options_;
  return {reserved.code(),
          "table " + table + ": no " + std::to_string(bytes) + " bytes for more rows in " +
              folder + ", beside the " + std::to_string(bytes_reserved_) +
              " that the shard's rows have there: " + reserved.message() +
              ". Make room there, let cluster.rows_dir name a larger disk, or erase rows that "
              "are not needed"};
}

const std::vector<std::uint64_t>& row_memory::absent() {
  std::sort(absent_.begin(), absent_.end());
  return absent_;
}

void row_memory::start_reading(std::uint32_t number, std::uint64_t end) {
  absent();
  const auto last = std::lower_bound(absent_.begin(), absent_.end(), end);
  for (auto page = absent_.begin(); page != last;) {
    auto next = page + 1;
    while (next != last && *next == *(next - 1) + 1) ++next;
    const auto count = static_cast<std::uint64_t>(next - page);
    files_[number].file->start_reading(*page * page_bytes, count * page_bytes);
    bytes_read_ += count * page_bytes;
    page = next;
  }
  absent_.clear();
}

void row_memory::look(const rows::page_block& first, std::span<rows::page_mask> in_memory) {
  const auto& [file, mapped] = files_[first.file];
  const auto offset = first.number * block_bytes;
  const auto pages = std::min<std::uint64_t>(in_memory.size() * rows::block_pages,
                                             (file->size() - offset) / page_bytes);
  looked_.assign(in_memory.size() * rows::block_pages, 0);
  backing_file::look(mapped + offset, std::span(looked_).first(pages));
  for (std::size_t i = 0; i < in_memory.size(); ++i) {
    in_memory[i] = 0;
    for (std::uint32_t page = 0; page < rows::block_pages; ++page)
      in_memory[i] |=
          static_cast<rows::page_mask>(looked_[i * rows::block_pages + page] << page);
  }
}

// From the first to the last: what lies between has been changed, too, as a rule.
void row_memory::start_writing(const rows::page_block& block, rows::page_mask pages) {
  const auto first = static_cast<std::uint64_t>(std::countr_zero(pages));
  const auto end = static_cast<std::uint64_t>(std::bit_width(pages));
  files_[block.file].file->start_writing(block.number * block_bytes + first * page_bytes,
                                         (end - first) * page_bytes);
}

rows::page_mask row_memory::drop(const rows::page_block& block, rows::page_mask pages) {
  const auto& from = files_[block.file];
  for_runs(pages, [&](std::uint64_t first, std::uint64_t count) {
    const auto offset = block.number * block_bytes + first * page_bytes;
    const auto dropped = from.file->drop(from.mapped + offset, offset, count * page_bytes);
    if (!dropped.ok() && failure_.ok())
      failure_ = {dropped.code(), "table " + options_.table +
                                      ": its rows cannot be written to " + options_.folder +
                                      ": " + dropped.message() +
                                      ". Its disk has failed, or has no space for what was "
                                      "reserved there; cluster.rows_dir names it"};
  });
  rows::page_mask left = 0;
  look(block, {&left, 1});
  return static_cast<rows::page_mask>(left & pages);
}

}  // namespace tidegate::runtime
