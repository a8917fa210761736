// Rows of a part on a simulated device: stepped at once, in arrays of their own, as that is
// what the device will have; what others read of them is there when device_work comes to it,
// and is no number until then. What the checker reads, which keeps no memory for it, is there
// at once. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "launch/simulate/cluster/device_work.hpp"
#include "runtime/rows/row_engine.hpp"

namespace tidegate::sim {

class late_rows final : public runtime::row_engine {
 public:
  // It outlives this.
  late_rows(device_work& device, const runtime::row_shape& shape)
      : device_(device), shape_(shape) {}

  runtime::status reserve(std::uint64_t rows) override;
  runtime::status reserve_notes(std::uint32_t, std::uint64_t) override { return {}; }
  void prepare_step(std::span<const runtime::row_number>) override {}
  void begin(std::span<const runtime::row_number> rows, std::span<const float> values) override;
  void put(std::span<const runtime::row_number> rows, std::span<const float> values,
           std::span<const float> states, const runtime::row_memory_owner& owner) override;
  void note(const runtime::row_notes& into, std::span<const runtime::row_number> rows) override;
  void put_notes(const runtime::row_notes& into, std::span<const float> values,
                 const runtime::row_memory_owner& owner) override;
  void step(std::span<const segment> segments, std::span<const runtime::row_number> rows,
            std::span<const float* const> gradients) override;
  void read(std::span<const runtime::row_source> from, float* out,
            runtime::row_memory_owner owner) override;
  void read_states(std::span<const runtime::row_number> rows, float* out,
                   runtime::row_memory_owner owner) override;

 private:
  struct copy {
    float* to = nullptr;
    std::vector<float> values;
  };

  std::span<float> values_of(runtime::row_number row);
  std::span<float> state_of(runtime::row_number row);
  std::span<float> note_at(std::uint32_t list, std::uint64_t place);
  void copy_later(std::vector<copy> copies, runtime::row_memory_owner owner);

  device_work& device_;
  runtime::row_shape shape_;
  std::vector<float> values_, states_;
  std::vector<std::vector<float>> notes_;  // by list
};

class late_row_engines final : public runtime::row_engines {
 public:
  explicit late_row_engines(device_work& device) : device_(device) {}
  runtime::expected<std::unique_ptr<runtime::row_engine>> make(
      const runtime::row_shape& shape) override {
    return std::unique_ptr<runtime::row_engine>(std::make_unique<late_rows>(device_, shape));
  }

 private:
  device_work& device_;
};

}  // namespace tidegate::sim
