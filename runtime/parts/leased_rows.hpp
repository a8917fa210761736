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

  // Writes the values of a part's rows to where their ids are in what `places` was given, of
  // which `ids` are those of this part, ascending. Returns false if somebody has written since
  // the owner gave the lease that was opened last: then what was written means nothing.
  bool gather(std::span<const std::uint64_t> ids, const batch_writer& places,
              std::uint32_t part, std::span<float> out);

 private:
  std::optional<row_reader> reader_;
  row_lease lease_;
  std::vector<row_number> numbers_;
};

}  // namespace tidegate::runtime
