#include "runtime/batches/batch_merger.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

void batch_merger::begin(std::span<const input> inputs, std::uint32_t dim,
                         const kernels::combination& by) {
  dim_ = dim;
  by_ = by;
  cursors_.clear();
  for (const auto& from : inputs) {
    TIDEGATE_ASSERT(from.batch.dim == dim, "rows of one width");
    TIDEGATE_ASSERT(cursors_.empty() || cursors_.back().rank < from.rank,
                    "batches ascend in rank");
    if (!from.batch.ids.empty())
      cursors_.push_back(
          {.rank = from.rank, .next = 0, .id = from.batch.ids.front(), .batch = from.batch});
  }
}

bool batch_merger::cursor::advance() {
  if (++next == batch.ids.size()) return false;
  id = batch.ids[next];
  return true;
}

// A handful of workers push a row: looking at each is faster than keeping them in order.
std::uint64_t batch_merger::least_of(const std::vector<cursor>& cursors) {
  auto least = cursors.front().id;
  for (const auto& at : cursors) least = std::min(least, at.id);
  return least;
}

namespace {

template <class Cursors>
void drop_ended(Cursors& cursors) {
  std::erase_if(cursors, [](const auto& at) { return at.next == at.batch.ids.size(); });
}

}  // namespace

// Most rows are pushed by a worker or two. A kernel that is chosen for each of them takes
// longer than its sum, which has the same bits here.
void batch_merger::sum_row(float* out) const {
  const auto* const first = static_cast<const float*>(gradients_.front().data);
  if (gradients_.size() == 1) {
    std::copy_n(first, dim_, out);
  } else if (!is_sum(by_.by)) {
    kernels::tree_reduce(gradients_, out, dim_, by_);
  } else if (gradients_.size() == 2) {
    const auto* const second = static_cast<const float*>(gradients_.back().data);
    for (std::uint32_t i = 0; i < dim_; ++i) out[i] = first[i] + second[i];
  } else {
    kernels::tree_sum(gradients_, out, dim_);
  }
}

template <class Take>
std::size_t batch_merger::take_rows(std::size_t rows_max, std::uint64_t* ids,
                                    const Take& take) {
  std::size_t rows = 0;
  for (; rows < rows_max && !cursors_.empty(); ++rows) {
    const auto least = least_of(cursors_);
    gradients_.clear();
    bool any_ends = false;
    for (auto& at : cursors_) {
      if (at.id != least) continue;
      gradients_.push_back({.data = at.batch.row(at.next).data(), .rank = at.rank});
      any_ends |= !at.advance();
    }
    ids[rows] = least;
    take(rows);
    if (any_ends) drop_ended(cursors_);
  }
  return rows;
}

std::size_t batch_merger::next(std::size_t rows_max, std::uint64_t* ids, float* values) {
  return take_rows(rows_max, ids, [&](std::size_t row) { sum_row(values + row * dim_); });
}

std::size_t batch_merger::next(std::size_t rows_max, std::uint64_t* ids, const float** rows,
                               float* values) {
  return take_rows(rows_max, ids, [&](std::size_t row) {
    rows[row] = gradients_.size() == 1 ? static_cast<const float*>(gradients_.front().data)
                                       : values + row * dim_;
    if (gradients_.size() > 1) sum_row(values + row * dim_);
  });
}

std::uint64_t batch_merger::rows_left() {
  counting_ = cursors_;
  std::uint64_t rows = 0;
  for (; !counting_.empty(); ++rows) {
    const auto least = least_of(counting_);
    bool any_ends = false;
    for (auto& at : counting_)
      if (at.id == least) any_ends |= !at.advance();
    if (any_ends) drop_ended(counting_);
  }
  return rows;
}

}  // namespace tidegate::runtime
