#include "tests/runtime/device/cuda/fake_driver.hpp"

#include <cstring>
#include <cuda.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "tests/runtime/device/cuda/fake_runtime.hpp"

namespace tidegate::tests {

using namespace runtime::devices;

namespace {

constexpr std::size_t granularity = std::size_t{2} << 20;

struct allocation {
  device_memory memory;
  std::size_t bytes = 0;  // 0: unknown, of an import
  bool has_handle = true, is_reserved = false, is_mapped = false;
  int access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};
std::map<CUmemGenericAllocationHandle, allocation> allocations;
CUmemGenericAllocationHandle last_handle = 0;

CUresult verdict(const char* call) {
  if (!is_current()) return CUDA_ERROR_INVALID_CONTEXT;
  if (the_gpu().device->is_lost()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (the_gpu().failing_call == call) return static_cast<CUresult>(the_gpu().error);
  return CUDA_SUCCESS;
}

CUdeviceptr address_of(const allocation& item) {
  return reinterpret_cast<CUdeviceptr>(item.memory.data());
}
allocation* find(CUdeviceptr at) {
  for (auto& [handle, item] : allocations)
    if (address_of(item) == at) return &item;
  return nullptr;
}
const allocation* find_around(const void* at) {
  const auto* byte = static_cast<const std::byte*>(at);
  for (const auto& [handle, item] : allocations)
    if (byte >= item.memory.data() && byte < item.memory.data() + item.memory.size())
      return &item;
  return nullptr;
}
void forget_what_is_over() {
  std::erase_if(allocations, [](const auto& entry) {
    return !entry.second.has_handle && !entry.second.is_reserved && !entry.second.is_mapped;
  });
}

CUresult keep(runtime::expected<device_memory> memory, std::size_t bytes,
              CUmemGenericAllocationHandle* handle) {
  if (!memory)
    return memory.error().code() == runtime::errc::io_error ? CUDA_ERROR_OUT_OF_MEMORY
                                                            : CUDA_ERROR_INVALID_VALUE;
  *handle = ++last_handle;
  allocations[*handle] = {.memory = std::move(*memory), .bytes = bytes};
  ++the_gpu().handles;
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal + 100;
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (device != 100) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
               ? the_gpu().has_virtual_memory
               : attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED &&
                     the_gpu().has_file_descriptors;
  return CUDA_SUCCESS;
}
bool is_good(const CUmemAllocationProp& properties) {
  return properties.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
         properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == 0;
}
CUresult get_granularity(std::size_t* bytes, const CUmemAllocationProp* properties,
                         CUmemAllocationGranularity_flags) {
  *bytes = granularity;
  return is_good(*properties) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                const CUmemAllocationProp* properties, unsigned long long) {
  if (const auto error = verdict("cuMemCreate"); error != CUDA_SUCCESS) return error;
  if (bytes == 0 || bytes % granularity != 0 || !is_good(*properties))
    return CUDA_ERROR_INVALID_VALUE;
  return keep(the_gpu().device->allocate(bytes), bytes, handle);
}
CUresult release(CUmemGenericAllocationHandle handle) {
  const auto found = allocations.find(handle);
  if (found == allocations.end() || !found->second.has_handle) return CUDA_ERROR_INVALID_VALUE;
  found->second.has_handle = false;
  --the_gpu().handles;
  forget_what_is_over();
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr,
                 unsigned long long) {
  if (const auto error = verdict("cuMemAddressReserve"); error != CUDA_SUCCESS) return error;
  const auto last = allocations.find(last_handle);
  if (last == allocations.end() || last->second.is_reserved || bytes % granularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  last->second.is_reserved = true;
  ++the_gpu().reservations;
  *at = address_of(last->second);
  return CUDA_SUCCESS;
}
CUresult free_addresses(CUdeviceptr at, std::size_t bytes) {
  auto* const item = find(at);
  if (item == nullptr || !item->is_reserved || item->is_mapped || bytes % granularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  item->is_reserved = false;
  --the_gpu().reservations;
  forget_what_is_over();
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr at, std::size_t bytes, std::size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const auto error = verdict("cuMemMap"); error != CUDA_SUCCESS) return error;
  auto* const item = find(at);
  if (item == nullptr || item != &allocations.at(handle) || !item->is_reserved || offset != 0 ||
      bytes < item->bytes)
    return CUDA_ERROR_INVALID_VALUE;
  item->is_mapped = true;
  ++the_gpu().mappings;
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr at, std::size_t) {
  auto* const item = find(at);
  if (item == nullptr || !item->is_mapped) return CUDA_ERROR_INVALID_VALUE;
  item->is_mapped = false;
  --the_gpu().mappings;
  forget_what_is_over();
  return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr at, std::size_t, const CUmemAccessDesc* access,
                    std::size_t count) {
  if (const auto error = verdict("cuMemSetAccess"); error != CUDA_SUCCESS) return error;
  auto* const item = find(at);
  if (item == nullptr || !item->is_mapped || count != 1 || access->location.id != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ && !the_gpu().has_read_only_access)
    return CUDA_ERROR_NOT_SUPPORTED;
  item->access = access->flags;
  return CUDA_SUCCESS;
}

CUresult export_handle(void* descriptor, CUmemGenericAllocationHandle handle,
                       CUmemAllocationHandleType, unsigned long long) {
  if (const auto error = verdict("cuMemExportToShareableHandle"); error != CUDA_SUCCESS)
    return error;
  const auto name = the_gpu().device->name_window(allocations.at(handle).memory);
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const int file = ::memfd_create("fake-gpu-memory", 0);
  if (::write(file, name->bytes.data(), sizeof name->bytes) != sizeof name->bytes)
    return CUDA_ERROR_OPERATING_SYSTEM;
  std::memcpy(descriptor, &file, sizeof file);
  return CUDA_SUCCESS;
}
CUresult import_handle(CUmemGenericAllocationHandle* handle, void* descriptor,
                       CUmemAllocationHandleType) {
  if (const auto error = verdict("cuMemImportFromShareableHandle"); error != CUDA_SUCCESS)
    return error;
  const int file = static_cast<int>(reinterpret_cast<std::uintptr_t>(descriptor));
  window_name name;
  if (::pread(file, name.bytes.data(), sizeof name.bytes, 0) != sizeof name.bytes)
    return CUDA_ERROR_INVALID_VALUE;
  return keep(the_gpu().device->open_window(name), 0, handle);
}

template <class Call>
void* erased(Call* call) {
  return reinterpret_cast<void*>(call);
}

}  // namespace

void* driver_call(const char* name) {
  static const std::map<std::string, void*> calls{
      {"cuDeviceGet", erased(device_get)},
      {"cuDeviceGetAttribute", erased(device_attribute)},
      {"cuMemGetAllocationGranularity", erased(get_granularity)},
      {"cuMemCreate", erased(create)},
      {"cuMemRelease", erased(release)},
      {"cuMemAddressReserve", erased(reserve)},
      {"cuMemAddressFree", erased(free_addresses)},
      {"cuMemMap", erased(map)},
      {"cuMemUnmap", erased(unmap)},
      {"cuMemSetAccess", erased(set_access)},
      {"cuMemExportToShareableHandle", erased(export_handle)},
      {"cuMemImportFromShareableHandle", erased(import_handle)}};
  const auto found = calls.find(name);
  return found == calls.end() || the_gpu().missing_call == name ? nullptr : found->second;
}

void clear_driver() {
  allocations.clear();
}

bool may_read(const void* at) {
  const auto* item = find_around(at);
  return item == nullptr || (item->is_mapped && (item->access & CU_MEM_ACCESS_FLAGS_PROT_READ));
}
bool may_write(const void* at) {
  const auto* item = find_around(at);
  return item == nullptr ||
         (item->is_mapped && item->access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

}  // namespace tidegate::tests
