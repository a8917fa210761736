#include "launch/processes/poll_until.hpp"

#include <algorithm>

#include "policies/model/millisecond.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

// Rounded up: a wake-up too early decides nothing.
void poll_until(std::vector<pollfd>& fds, std::int64_t when) {
  constexpr std::int64_t longest = 60'000 * policies::millisecond;
  const auto left = std::clamp<std::int64_t>(
      std::max<std::int64_t>(when, 0) - runtime::steady_now(), 0, longest);
  ::poll(fds.data(), fds.size(),
         static_cast<int>((left + policies::millisecond - 1) / policies::millisecond));
}

}  // namespace tidegate::launch
