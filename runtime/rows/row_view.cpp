#include "runtime/rows/row_view.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/rows/row_loops.hpp"

namespace tidegate::runtime {

namespace {

// Ids that are looked up before the first of their rows is copied. Rows asked for while ids are
// looked up came later: 163 ns for a row of 64, in place of 132.
constexpr std::size_t gather_block = 512;

// Bytes for a hash, handed on when there are many of them.
class hashed_bytes {
 public:
  template <class T>
  void add(const T* data, std::size_t count) {
    static_assert(std::endian::native == std::endian::little, "hashes are of little-endian");
    const auto bytes = std::as_bytes(std::span(data, count));
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (waiting_.size() >= flush_bytes) flush();
  }
  std::string finish() {
    flush();
    return digest_.finish();
  }

 private:
  static constexpr std::size_t flush_bytes = 64U << 10U;

  void flush() {
    digest_.update(waiting_);
    waiting_.clear();
  }

  sha256 digest_;
  std::vector<std::byte> waiting_;
};

}  // namespace

void row_view::gather(std::span<const std::uint64_t> ids, std::span<float> out) const {
  const std::size_t dim = this->dim();
  TIDEGATE_ASSERT(out.size() == ids.size() * dim, "room for the values of each id");
  row_number numbers[gather_block];
  for (std::size_t begin = 0; begin < ids.size(); begin += gather_block) {
    const auto some = ids.subspan(begin, std::min(gather_block, ids.size() - begin));
    const auto found = std::span(numbers).first(some.size());
    index_.find(some, found);
    copy(some, found, out.subspan(begin * dim, some.size() * dim));
  }
}

void row_view::copy(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
                    std::span<float> out) const {
  const std::size_t dim = this->dim();
  TIDEGATE_ASSERT(rows.size() == ids.size() && out.size() == ids.size() * dim,
                  "a row, and room for its values, for each id");
  const rows::float_rows values{
      .data = slabs_.all_values(), .stride = slabs_.layout().value_stride, .dim = dim};
  rows::copy_rows(values, rows, out.data());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (rows[i] == no_row) [[unlikely]]
      write_initial(initial_, ids[i], out.subspan(i * dim, dim));
}

std::uint64_t row_view::version() const noexcept {
  const auto& header = *reinterpret_cast<const row_header*>(memory_);
  return __atomic_load_n(&header.version, __ATOMIC_ACQUIRE);
}

void row_view::end_of_read() noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
}

std::string hash_of_rows(const row_view& rows) {
  std::vector<std::pair<std::uint64_t, row_number>> all;
  all.reserve(rows.size());
  rows.index().for_each([&](std::uint64_t id, row_number row) { all.emplace_back(id, row); });
  std::sort(all.begin(), all.end());
  const auto& slabs = rows.slabs();
  const auto& shape = slabs.layout().shape;
  hashed_bytes bytes;
  bytes.add(&shape.dim, 1);
  bytes.add(&shape.state_floats, 1);
  for (const auto& [id, row] : all) {
    bytes.add(&id, 1);
    bytes.add(slabs.values(row), shape.dim);
    bytes.add(slabs.state(row), shape.state_floats);
    bytes.add(&slabs.use(row), 1);
  }
  return bytes.finish();
}

}  // namespace tidegate::runtime
