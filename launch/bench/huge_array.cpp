#include "launch/bench/huge_array.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::bench {

namespace {

constexpr std::size_t huge_page = 2U << 20U;

std::size_t mapped_bytes(std::size_t elements) {
  const auto bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  return (bytes + huge_page - 1) / huge_page * huge_page;
}

}  // namespace

huge_array::huge_array(std::size_t elements) : size_(elements) {
  const auto bytes = mapped_bytes(elements);
  // One page more, so that what is kept can begin on a huge page.
  void* memory = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TIDEGATE_ASSERT(memory != MAP_FAILED, "there is memory for the arrays of a benchmark");
  auto* begin = static_cast<char*>(memory);
  const auto ahead = (huge_page - reinterpret_cast<std::size_t>(begin) % huge_page) % huge_page;
  if (ahead != 0) ::munmap(begin, ahead);
  if (ahead != huge_page) ::munmap(begin + ahead + bytes, huge_page - ahead);
  ::madvise(begin + ahead, bytes, MADV_HUGEPAGE);  // a kernel without them is no error
  std::memset(begin + ahead, 0, bytes);
  data_ = reinterpret_cast<float*>(begin + ahead);
}

huge_array::huge_array(huge_array&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

huge_array& huge_array::operator=(huge_array&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

huge_array::~huge_array() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes(size_));
}

}  // namespace tidegate::bench
