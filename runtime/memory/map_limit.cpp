#include "runtime/memory/map_limit.hpp"

#include <fstream>

namespace tidegate::runtime {

namespace {

constexpr std::uint64_t default_limit = 65'530;

std::uint64_t read_limit() {
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit > 0 ? limit : default_limit;
}

}  // namespace

std::uint64_t map_limit() {
  static const auto limit = read_limit();
  return limit;
}

}  // namespace tidegate::runtime
