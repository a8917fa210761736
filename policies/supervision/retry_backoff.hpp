// Whether a question to which the coordinator answers `unavailable` is asked again: it may have
// died and be about to come back, or not know enough yet. Every such question may be asked
// twice. Value type; time is an argument, nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

class retry_backoff {
 public:
  // `now` is when the question is asked for the first time. It is asked again for `give_up_ms`;
  // 0: it is asked once.
  retry_backoff(std::int64_t now, std::uint32_t give_up_ms);

  // Returns the pause before the question is asked again, in nanoseconds; nothing if this
  // result stands.
  std::optional<std::int64_t> after(std::int64_t now, const runtime::status& result);

 private:
  std::int64_t until_;
  std::int64_t pause_;
};

}  // namespace tidegate::policies
