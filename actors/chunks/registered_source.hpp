// Payload memory that a device copies from by itself: what another source gives, registered. A
// region that the device cannot register is given as it is.
//
// Thread rule: that of the device, which outlives it, as all its regions are back before it
// goes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "runtime/device/device.hpp"
#include "runtime/memory/memory_source.hpp"

namespace tidegate::actors {

class registered_source final : public runtime::memory_source {
 public:
  registered_source(std::shared_ptr<runtime::memory_source> from,
                    runtime::devices::device& with)
      : from_(std::move(from)), device_(with) {}

  runtime::region allocate(std::size_t bytes) override;

 protected:
  void release(std::byte* data, std::size_t size, void* handle) noexcept override;

 private:
  struct given {
    runtime::region memory;
    runtime::devices::host_memory registered;  // goes before its memory
  };

  std::shared_ptr<runtime::memory_source> from_;
  runtime::devices::device& device_;
  std::map<std::byte*, given> given_;
};

}  // namespace tidegate::actors
