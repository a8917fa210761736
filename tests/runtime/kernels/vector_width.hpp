// Forces a vector width on the kernels of a test.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace tidegate::tests {

// Forces one width while it lives. Not thread-safe: no kernel may run as it begins or ends.
class forced_width {
 public:
  explicit forced_width(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~forced_width() { hwy::SetSupportedTargetsForTest(0); }
  forced_width(const forced_width&) = delete;
  forced_width& operator=(const forced_width&) = delete;
};

// A test of each width that the machine has. Instantiate it with `machine_widths()` and
// `width_name`.
class each_width_test : public testing::TestWithParam<std::int64_t> {
  forced_width width_{GetParam()};
};

inline auto machine_widths() {
  return testing::ValuesIn(hwy::SupportedAndGeneratedTargets());
}

inline const char* width_name(const testing::TestParamInfo<std::int64_t>& width) {
  return hwy::TargetName(width.param);
}

}  // namespace tidegate::tests
