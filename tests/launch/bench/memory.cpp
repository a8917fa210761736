#include "tests/launch/bench/memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace tidegate::bench {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

[[noreturn]] void give_up(const char* doing) {
  std::perror(doing);
  std::exit(1);
}

void* map(page_kind kind, std::size_t bytes) {
  int fd = -1;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (kind == page_kind::shared) {
    fd = memfd_create("tidegate_bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) give_up("memfd");
    flags = MAP_SHARED;
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) give_up("mmap");
  if (fd >= 0) close(fd);
  // A kernel without huge pages says no, and measures small ones.
  if (kind == page_kind::huge) madvise(at, bytes, MADV_HUGEPAGE);
  if (kind == page_kind::small) madvise(at, bytes, MADV_NOHUGEPAGE);
  return at;
}

}  // namespace

bool parse_page_kind(std::string_view word, page_kind& into) {
  if (word == "small") return into = page_kind::small, true;
  if (word == "huge") return into = page_kind::huge, true;
  if (word == "shared") return into = page_kind::shared, true;
  return false;
}

arrays::arrays(page_kind kind, std::size_t count, std::size_t floats) : floats_(floats) {
  // Arrays of a power of two that all start on the same offset hit the same bank of the memory
  // at the same time: 4 inputs took three times as long in fresh shared memory. One page and
  // one line more for each keeps that out of the figures.
  constexpr std::size_t stagger = 4096 + 64;
  const std::size_t bytes = floats * sizeof(float) + (count + 1) * stagger + 2 * huge_page;
  for (std::size_t k = 0; k < count; ++k) {
    auto* at = static_cast<std::byte*>(map(kind, bytes));
    mapped_.emplace_back(at, bytes);
    const auto past = reinterpret_cast<std::uintptr_t>(at) % huge_page;
    auto* start = at + (past == 0 ? 0 : huge_page - past) + (k + 1) * stagger;
    arrays_.push_back(reinterpret_cast<float*>(start));
    for (std::size_t i = 0; i < floats; ++i)
      arrays_[k][i] = 1.0F / static_cast<float>(i % 1000 + k + 1);
  }
}

arrays::~arrays() {
  for (const auto part : mapped_) munmap(part.data(), part.size());
}

}  // namespace tidegate::bench
