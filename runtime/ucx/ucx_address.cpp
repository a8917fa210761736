#include "runtime/ucx/ucx_address.hpp"

#include <cstdint>

#include "runtime/ucx/ucx_error.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t length_bytes = 4;

expected<std::string> query(ucp_worker_h worker, std::uint32_t flags) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = flags;
  if (auto code = ucp_worker_query(worker, &attributes); code != UCS_OK)
    return fail(ucx_error("asking for this process's UCX address", code));
  std::string bytes(reinterpret_cast<const char*>(attributes.address),
                    attributes.address_length);
  ucp_worker_release_address(worker, attributes.address);
  return bytes;
}

}  // namespace

expected<std::string> address_of(ucp_worker_h worker) {
  auto all = query(worker, 0);
  if (!all) return all;
  auto network = query(worker, UCP_WORKER_ADDRESS_FLAG_NET_ONLY);
  if (!network) return network;
  std::string packed;
  for (std::size_t i = 0; i < length_bytes; ++i)
    packed += static_cast<char>(all->size() >> (8 * i) & 0xff);
  return packed + *all + *network;
}

std::string_view part_of(std::string_view address, reach where) {
  if (address.size() < length_bytes) return {};
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::size_t{static_cast<unsigned char>(address[i])} << (8 * i);
  address.remove_prefix(length_bytes);
  if (length > address.size()) return {};
  return where == reach::host ? address.substr(0, length) : address.substr(length);
}

}  // namespace tidegate::runtime
