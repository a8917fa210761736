// How much memory the rows of a table may take on a shard, where they are more than fit: the
// parts of the table share it. Values and states of each part lie in a file (row_file.hpp); a
// clock (page_clock.hpp) says which pages of these stay in memory, and this carries it out.
//
// One thread. Files have a share in it, so it outlives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory/backing_file.hpp"
#include "runtime/rows/page_clock.hpp"

namespace tidegate::runtime {

struct row_memory_options {
  std::string table;        // for messages
  std::string folder;       // of a disk, where files are
  std::uint64_t bytes = 0;  // in memory at most, a page and more
};

class row_memory final : private rows::page_device {
 public:
  // Errors: those of backing_file::check_folder().
  static expected<std::shared_ptr<row_memory>> create(const row_memory_options& options);

  // What it has done so far.
  struct figures {
    std::uint64_t bytes = 0;  // in memory, as far as is known
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_dropped = 0;
    std::uint64_t bytes_reserved = 0;  // of the disk, by files that there are
  };
  figures so_far() const noexcept;
  // Why rows are of no use any more, as some may be older than they were left: a disk has
  // failed. ok: it has not.
  const status& failure() const noexcept { return failure_; }
  const std::string& table() const noexcept { return options_.table; }
  std::uint64_t bytes_max() const noexcept { return options_.bytes; }

 private:
  friend class row_file;

  explicit row_memory(const row_memory_options& options);

  // Files as the clock numbers them. `mapped` is where the file is mapped.
  std::uint32_t add(const backing_file& file, std::byte* mapped);
  void remove(std::uint32_t number, std::uint64_t reserved);
  status reserve(const backing_file& file, std::uint64_t offset, std::uint64_t bytes);
  // Pages [first, first + count) of a file are about to be used. Those that are not in memory
  // are noted, and read at once, as far as they lie before `end`.
  void use(std::uint32_t number, std::uint64_t first, std::uint64_t count, bool writes) {
    clock_.use(number, first, count, writes, absent_);
  }
  void start_reading(std::uint32_t number, std::uint64_t end);
  // Those that were noted since start_reading(), ascending.
  const std::vector<std::uint64_t>& absent();
  void let_go(std::uint32_t number, std::span<const std::uint64_t> pages) {
    clock_.let_go(number, pages, *this);
  }
  void balance() { clock_.balance(*this); }

  void look(const rows::page_block& first, std::span<rows::page_mask> in_memory) override;
  void start_writing(const rows::page_block& block, rows::page_mask pages) override;
  rows::page_mask drop(const rows::page_block& block, rows::page_mask pages) override;

  struct mapped_file {
    const backing_file* file = nullptr;
    std::byte* mapped = nullptr;
  };

  row_memory_options options_;
  rows::page_clock clock_;
  std::vector<mapped_file> files_;  // by number
  std::vector<std::uint64_t> absent_;
  std::vector<unsigned char> looked_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_reserved_ = 0;
  status failure_;
};

}  // namespace tidegate::runtime
