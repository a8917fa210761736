#include "runtime/ucx/ucx_address.hpp"

#include <cstring>
#include <random>

#include <ucp/api/ucp.h>

namespace tidegate::runtime {

expected<std::uint64_t> worker_number(std::string_view address) {
  ucp_worker_address_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID;
  // UCX reads it and takes no const.
  std::string copy(address);
  auto* read = reinterpret_cast<ucp_address_t*>(copy.data());
  if (address.empty() || ucp_worker_address_query(read, &attributes) != UCS_OK)
    return fail(errc::invalid_argument, "reading a peer's UCX address: it has no such form");
  return attributes.worker_uid;
}

// Where the number stands is UCX's own business, so it is looked for, and the result asked for.
expected<std::string> renumbered(std::string_view address) {
  const auto number = worker_number(address);
  if (!number) return fail(number.error());
  char digits[sizeof *number];
  std::memcpy(digits, &*number, sizeof digits);
  const auto place = address.find(std::string_view(digits, sizeof digits));
  std::random_device random;
  const std::uint64_t fresh = std::uint64_t{random()} << 32 | random();
  std::string changed(address);
  if (place != std::string_view::npos)
    std::memcpy(changed.data() + place, &fresh, sizeof fresh);
  const auto outcome = worker_number(changed);
  if (!outcome || *outcome != fresh)
    return fail(errc::unavailable,
                "connecting to a peer again: this UCX keeps the number of a "
                "worker elsewhere in its address than 1.13 does");
  return changed;
}

}  // namespace tidegate::runtime
