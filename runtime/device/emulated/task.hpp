// A half of some work, with addresses of the emulated device's own. Whoever works has one.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/emulated/address_space.hpp"
#include "runtime/device/emulated/schedule.hpp"
#include "runtime/device/emulated/work.hpp"
#include "runtime/device/host_ranges.hpp"

namespace tidegate::runtime::devices {

class task {
 public:
  // Takes what is due. Returns false if it touches what is neither memory of the device nor
  // registered, or writes to a window.
  bool take(const schedule::part& part, const address_space& memory,
            const host_ranges& registered);
  // Does it, by the loops of runtime/kernels, whose bits are those of the kernels. The memory
  // is still there.
  void carry_out() const;

 private:
  bool take_launch(const kept_launch& launch, const address_space& memory);
  bool take_rows(const row_step_launch& call, const address_space& memory,
                 const host_ranges& registered);
  bool take_rows(const row_copy_launch& call, const address_space& memory,
                 const host_ranges& registered);
  void carry_out_find() const;
  void carry_out_launch() const;
  void step_rows() const;
  void copy_rows() const;

  work_kind kind_ = work_kind::clear;
  half side_ = half::first;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  std::size_t bytes_ = 0;
  kept_launch launch_;
  row_step_launch step_;                       // its rows are in steps_
  std::vector<kernels::row_addresses> steps_;  // of this half
  row_copy_launch copy_;                       // likewise, in row_copies_
  std::vector<kernels::row_copy> row_copies_;
};

}  // namespace tidegate::runtime::devices
