// The rows of a part of another process of this host, read in place under leases
// (row_lease.hpp). Maps the memory once, and anew when the part lies elsewhere. One thread.
// Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/batches/batch_writer.hpp"
#include "runtime/parts/row_lease.hpp"
#include "runtime/rows/row_reader.hpp"

namespace tidegate::runtime {

class leased_rows {
 public:
  // `dim`: values of a row. Errors: those of row_reader::open; corrupt (rows of another size).
  status open(const row_lease& lease, std::uint32_t dim);

  // Lets go of the memory, which open() maps again.
  void close() { reader_.reset(); }

  // Finds the rows of a part in its owner's memory: rows[i] is where the values of the i-th of
  // the ids lie that `places` was given, of which `ids` are those of this part, ascending. Of
  // a row that does not exist it is null, and its first values are written to `out`, which has
  // room for all of them. Entries of ids of other parts stay as they are.
  void find(std::span<const std::uint64_t> ids, const batch_writer& places, std::uint32_t part,
            std::span<const float*> rows, std::span<float> out);
  // Returns false if somebody has written since the owner gave the lease that was opened last:
  // then what has been found and read means nothing.
  bool still_holds() const;
  // What was found has been read: row_reader::release_pages().
  void release_pages() const {
    if (reader_) reader_->release_pages();
  }

 private:
  std::optional<row_reader> reader_;
  row_lease lease_;
  std::vector<row_number> numbers_;
};

}  // namespace tidegate::runtime
