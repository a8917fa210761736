// Values and states of the rows of a part in a file, where they are more than fit memory
// (row_memory.hpp): the state of a row lies beside its values, so that a step finds both on a
// page. The file is mapped where they would lie otherwise, so nobody who reads or steps rows
// need know. Whoever is about to touch rows says so: pages are read together then, before the
// first is needed, and counted.
//
// Internal to this folder. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "runtime/rows/row_layout.hpp"
#include "runtime/rows/row_memory.hpp"

namespace tidegate::runtime {

class row_file {
 public:
  // `memory` is that of the table, as `layout` says, which is one of rows in a file; the file
  // lies over its values until it is unmapped. Errors: those of backing_file::create;
  // io_error (no mapping left).
  static expected<std::unique_ptr<row_file>> create(std::shared_ptr<row_memory> shared,
                                                    std::byte* memory,
                                                    const row_layout& layout);
  ~row_file();
  row_file(const row_file&) = delete;
  row_file& operator=(const row_file&) = delete;

  const segment_name& name() const noexcept { return file_.name(); }

  // Rows below this number have space on the disk when it returns. Errors: no_space, io_error;
  // then those that had space still have it.
  status reserve(std::uint64_t rows);

  // row_memory::failure().
  const status& failure() const noexcept;
  // Rows that are best used at a time, so that those of two such blocks stay.
  std::size_t block_rows() const noexcept { return block_rows_; }
  // What goes over all rows once (scans) brings pages that nobody will use for long.
  enum class access : std::uint8_t { reads, writes, scans };
  // These rows are about to be used, and stay for so long. There may be no_row among them.
  void use(std::span<const row_number> rows, access kind);
  // The block that was used first, of those for which this was not called, has been. Lets
  // pages go: others for it (page_clock::balance()), or what a scan has brought.
  void end_use(access kind);

 private:
  row_file(std::shared_ptr<row_memory> shared, backing_file file, std::byte* mapped,
           const row_layout& layout);

  std::shared_ptr<row_memory> shared_;
  backing_file file_;
  std::uint64_t row_bytes_;
  std::size_t block_rows_;
  std::uint32_t number_;                            // of the file
  std::deque<std::vector<std::uint64_t>> scanned_;  // pages that a scan has brought, by block
  std::uint64_t reserved_ = 0;                      // bytes
  std::uint64_t written_ = 0;  // pages; those behind have never been used, and are zero
};

}  // namespace tidegate::runtime
