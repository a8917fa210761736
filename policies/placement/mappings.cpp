#include "policies/placement/mappings.hpp"

namespace tidegate::policies {

std::uint64_t mappings_of_array(std::span<const chunk_place> places) {
  std::uint64_t runs = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (i == 0 || places[i].shard != places[i - 1].shard) ++runs;
  return runs > 1 ? runs * mapped_versions : 0;
}

}  // namespace tidegate::policies
