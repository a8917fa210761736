#include "runtime/memory/file_resource.hpp"

#include <sys/mman.h>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/memory/backing_file.hpp"

namespace tidegate::runtime {

file_resource::~file_resource() {
  TIDEGATE_ASSERT(mapped_.empty(), "it outlives what it has given");
}

std::size_t file_resource::bytes_in_files() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [at, size] : mapped_) bytes += size;
  return bytes;
}

// Returns null, and says why, where there is no space.
void* file_resource::map_file(std::size_t bytes) {
  const auto refuse = [&](const std::string& why) {
    log::warn("a copy of " + std::to_string(bytes) + " bytes lies in memory, and not in " +
              folder_ + ": " + why);
    return nullptr;
  };
  const auto size =
      (bytes + segment::page_bytes - 1) / segment::page_bytes * segment::page_bytes;
  const auto file = backing_file::create(folder_, size, backing_file::order::ascending);
  if (!file) return refuse(file.error().message());
  if (const auto reserved = file->reserve(0, size); !reserved.ok())
    return refuse(reserved.message());
  void* at =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return refuse("no address space");
  if (!file->map_at(static_cast<std::byte*>(at))) {
    ::munmap(at, size);
    return refuse("no mapping left");
  }
  mapped_.emplace(at, size);
  return at;
}

void* file_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes >= file_bytes_min && alignment <= segment::page_bytes)
    if (void* at = map_file(bytes)) return at;
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void file_resource::do_deallocate(void* at, std::size_t bytes, std::size_t alignment) {
  const auto found = mapped_.find(at);
  if (found == mapped_.end())
    return std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  ::munmap(at, found->second);
  mapped_.erase(found);
}

}  // namespace tidegate::runtime
