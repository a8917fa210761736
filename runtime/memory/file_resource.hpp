// Memory of arrays that are large and soon gone, in files (backing_file.hpp): where the system
// is short of memory it writes them to the disk, and does not end somebody for them. What finds
// no space there is ordinary memory, as the log says, and so is what is small.
//
// One thread allocates; what was allocated is any thread's. Outlives what it has given.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <string>
#include <utility>

namespace tidegate::runtime {

class file_resource final : public std::pmr::memory_resource {
 public:
  // Smaller ones are not worth a file.
  static constexpr std::size_t file_bytes_min = 1U << 20U;

  explicit file_resource(std::string folder) : folder_(std::move(folder)) {}
  ~file_resource() override;
  file_resource(const file_resource&) = delete;
  file_resource& operator=(const file_resource&) = delete;

  // Bytes that lie in files.
  std::size_t bytes_in_files() const noexcept;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  // Returns null where there is no space.
  void* map_file(std::size_t bytes);

  std::string folder_;
  std::map<void*, std::size_t> mapped_;  // bytes of each
};

}  // namespace tidegate::runtime
