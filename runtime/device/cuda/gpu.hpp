// A GPU behind the seam: internal to this folder. What sets it up is in cuda_device.cpp, and
// what works on it in gpu_work.cpp. Thread rule and errors are those of device.hpp.
#pragma once

#include <cstring>
#include <cuda_runtime_api.h>
#include <string>
#include <vector>

#include "runtime/device/cuda/shared_memory.hpp"
#include "runtime/device/cuda/window_fields.hpp"
#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices::cuda {

// All that is not one of the mistakes which are asked about counts as the end of the device:
// CUDA's errors come late and of other calls' work, and most of them are for ever.
class cuda_device final : public device {
 public:
  cuda_device(std::uint32_t index, const cudaDeviceProp& about)
      : index_(static_cast<int>(index)),
        name_("cuda:" + std::to_string(index)),
        reads_read_only_(about.hostRegisterReadOnlySupported != 0),
        works_on_host_memory_(about.unifiedAddressing != 0 &&
                              about.canUseHostPointerForRegisteredMem != 0),
        shared_(index_) {
    std::memcpy(uuid_.data(), about.uuid.bytes, uuid_.size());
  }
  ~cuda_device() override;
  cuda_device(const cuda_device&) = delete;
  cuda_device& operator=(const cuda_device&) = delete;

  const std::string& name() const noexcept override { return name_; }
  bool works_on_host_memory() const noexcept override { return works_on_host_memory_; }
  expected<device_memory> allocate(std::size_t bytes) override;
  expected<device_memory> allocate_unshown(std::size_t bytes) override;
  room memory() override;
  expected<host_memory> allocate_host(std::size_t bytes) override;
  expected<host_memory> register_host(std::span<std::byte> bytes, host_access access) override;
  expected<stream> make_stream() override;
  expected<event> make_event() override;
  expected<stream> adopt_stream(std::uintptr_t handle) override;
  expected<window_name> name_window(const device_memory& memory) override;
  expected<device_memory> open_window(const window_name& name) override;
  status synchronize() override;

  status copy_in(stream on, std::byte* to, std::span<const std::byte> from) override;
  status copy_out(stream on, std::span<std::byte> to, const std::byte* from) override;
  status copy(stream on, std::byte* to, const std::byte* from, std::size_t bytes) override;
  status find_not_finite(stream on, const float* numbers, std::size_t n,
                         std::uint64_t* first) override;
  status clear(stream on, std::byte* at, std::size_t bytes) override;
  status launch(stream on, const update_launch& call) override;
  status step_rows(stream on, const row_step_launch& call) override;
  status copy_rows(stream on, const row_copy_launch& call) override;
  status record(stream on, event end) override;
  status wait(stream on, event end) override;
  expected<bool> has_ended(event end) override;

 protected:
  void release(std::byte* data, std::size_t size) noexcept override;
  void release(std::span<std::byte> bytes, host_memory::origin from) noexcept override;

 private:
  // Makes the device current on this thread; false if it is lost.
  bool enter();
  status check(cudaError_t error, const char* call);
  status short_of(const std::string& kind, std::size_t bytes);
  bool is_adopted(stream on) const;
  cudaStream_t handle(stream on) const;
  cudaEvent_t handle(event end) const;

  int index_;
  std::string name_;
  bool reads_read_only_;  // can register memory that is mapped read-only
  bool works_on_host_memory_;
  gpu_identity uuid_{};
  status lost_;
  std::vector<cudaStream_t> streams_;
  std::vector<stream> adopted_;  // of these: not ours to end
  std::vector<cudaEvent_t> events_;
  shared_memory shared_;
};

}  // namespace tidegate::runtime::devices::cuda
