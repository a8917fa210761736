#include "actors/shard/seed_copies.hpp"

namespace tidegate::actors {

namespace {

// Marks seeds among the names of frames that the ingress has sent.
constexpr policies::send_name seed_bit = std::uint64_t{1} << 63U;

}  // namespace

seed_copies::outgoing seed_copies::send(std::uint32_t slot) {
  const auto& copy = copies_.at(slot);
  const auto name = seed_bit | ++last_;
  sending_[name] = copy;
  return {name, *copy};
}

bool seed_copies::sent(policies::send_name name) {
  if ((name & seed_bit) == 0) return false;
  sending_.erase(name);
  return true;
}

}  // namespace tidegate::actors
