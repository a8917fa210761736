#include "runtime/parts/leased_rows.hpp"

#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::runtime {

status leased_rows::open(const row_lease& lease, std::uint32_t dim) {
  const bool is_mapped = reader_ && lease_.place == lease.place;
  lease_ = lease;
  if (is_mapped) return {};
  reader_.reset();
  if (lease.place.shape.dim != dim)
    return {errc::corrupt, "a lease on rows of " + std::to_string(lease.place.shape.dim) +
                               " values; those of the table have " + std::to_string(dim)};
  auto reader = row_reader::open(lease.place);
  if (!reader) return reader.error();
  reader_.emplace(std::move(*reader));
  return {};
}

void leased_rows::find(std::span<const std::uint64_t> ids, const batch_writer& places,
                       std::uint32_t part, std::span<const float*> rows, std::span<float> out) {
  TIDEGATE_ASSERT(reader_ && ids.size() == places.rows_of(part), "the ids of a part");
  const auto& view = reader_->view();
  const std::size_t dim = view.dim();
  numbers_.resize(ids.size());
  view.index().find(ids, numbers_);
  const auto& slabs = view.slabs();
  places.visit_ids(part, [&](std::size_t row, std::size_t index) {
    const bool exists = numbers_[row] != no_row;
    rows[index] = exists ? slabs.values(numbers_[row]) : nullptr;
    if (!exists) write_initial(lease_.place.initial, ids[row], out.subspan(index * dim, dim));
  });
}

bool leased_rows::still_holds() const {
  row_view::end_of_read();
  return reader_->view().version() == lease_.version ||
         is_planted(planted_bug::row_lease_not_checked);
}

}  // namespace tidegate::runtime
