#include "runtime/ucx/ucx_memory.hpp"

#include <cstring>

namespace tidegate::runtime {

region ucx_memory::allocate(std::size_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS |
                      UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
  params.address = nullptr;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  if (ucp_mem_map(context_, &params, &handle) != UCS_OK) return {};
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
  if (ucp_mem_query(handle, &attributes) != UCS_OK || attributes.length < bytes) {
    ucp_mem_unmap(context_, handle);
    return {};
  }
  std::memset(attributes.address, 0, attributes.length);
  return {*this, static_cast<std::byte*>(attributes.address), attributes.length, handle};
}

void ucx_memory::release(std::byte*, std::size_t, void* handle) noexcept {
  ucp_mem_unmap(context_, static_cast<ucp_mem_h>(handle));
}

}  // namespace tidegate::runtime
