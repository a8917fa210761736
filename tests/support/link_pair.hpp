// Two links in one process that are connected to each other, and what they tell.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/link_recorder.hpp"

namespace tidegate::tests {

struct link_pair {
  void join(std::unique_ptr<runtime::link> first, std::unique_ptr<runtime::link> second) {
    a = std::move(first);
    b = std::move(second);
    ASSERT_TRUE(a && b);
    a->set_sink(&at_a);
    b->set_sink(&at_b);
    const auto there = a->connect(b->address());
    ASSERT_TRUE(there) << there.error().message();
    const auto back = b->connect(a->address());  // link.hpp: both sides do
    ASSERT_TRUE(back) << back.error().message();
    to_b = *there;
    to_a = *back;
  }

  recorder at_a, at_b;
  std::unique_ptr<runtime::link> a, b;
  runtime::peer_id to_b = 0, to_a = 0;
};

// Returns the link, or fails the test.
inline std::unique_ptr<runtime::link> link_of(
    runtime::expected<std::unique_ptr<runtime::link>> opened) {
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

}  // namespace tidegate::tests
