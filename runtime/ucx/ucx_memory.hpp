// Memory that UCX allocates and registers (ucp_mem_map with UCP_MEM_MAP_ALLOCATE). One reactor
// thread.
#pragma once

#include <ucp/api/ucp.h>

#include "runtime/memory/memory_source.hpp"

namespace tidegate::runtime {

class ucx_memory final : public memory_source {
 public:
  // Takes over the context and cleans it up at the end; the worker must be gone by then.
  explicit ucx_memory(ucp_context_h context) noexcept : context_(context) {}
  ~ucx_memory() override { ucp_cleanup(context_); }
  ucx_memory(const ucx_memory&) = delete;
  ucx_memory& operator=(const ucx_memory&) = delete;
  region allocate(std::size_t bytes) override;

 protected:
  void release(std::byte* data, std::size_t size, void* handle) noexcept override;

 private:
  ucp_context_h context_;
};

}  // namespace tidegate::runtime
