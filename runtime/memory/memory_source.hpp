// Where payload memory comes from: the heap, or a transport that registers it.
//
// A region is page-aligned, zeroed and touched, so that its first use does not fault. Thread
// rule: that of the object that implements it. The source must outlive its regions.
#pragma once

#include <cstddef>
#include <span>

namespace tidegate::runtime {

class memory_source;

// Owns memory of a source; move-only.
class region {
 public:
  region() = default;
  region(memory_source& source, std::byte* data, std::size_t size, void* handle) noexcept
      : source_(&source), data_(data), size_(size), handle_(handle) {}
  region(region&& other) noexcept;
  region& operator=(region&& other) noexcept;
  ~region();

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  void* handle() const noexcept { return handle_; }  // the source's own

 private:
  void reset() noexcept;

  memory_source* source_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* handle_ = nullptr;
};

class memory_source {
 public:
  virtual ~memory_source() = default;
  // An empty region when memory is short.
  virtual region allocate(std::size_t bytes) = 0;

 protected:
  friend class region;
  virtual void release(std::byte* data, std::size_t size, void* handle) noexcept = 0;
};

// The heap. Any thread.
class heap_source final : public memory_source {
 public:
  region allocate(std::size_t bytes) override;

 protected:
  void release(std::byte* data, std::size_t size, void* handle) noexcept override;
};

}  // namespace tidegate::runtime
