// A link for tests that passes on what another does, and lets a test change or put off what
// crosses it: a frame that has arrived, the end of a send, a payload that is arriving.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/transport/link.hpp"

namespace tidegate::tests {

// Of the test's thread, but for `receiving`, which is called on the link's.
struct link_hooks {
  std::function<void(runtime::frame_header&)> receiving;  // may change it; set before first use
  std::atomic<bool> keep_sent{false};      // while set, no send of a payload ends
  std::atomic<bool> keep_arriving{false};  // while set, payloads of replies are not written

  std::atomic<std::uint64_t> payloads_posted{0};
  std::atomic<std::uint64_t> arriving{0};  // have a place, and are kept

  // `inner`, with these hooks, which outlive it.
  std::unique_ptr<runtime::link> on(std::unique_ptr<runtime::link> inner);
};

}  // namespace tidegate::tests
