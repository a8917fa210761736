// Two links over UCX in one process that are connected to each other, as a fixture.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::tests {

class ucx_pair : public testing::Test {
 protected:
  void SetUp() override {
    auto first = runtime::make_ucx_link();
    auto second = runtime::make_ucx_link();
    ASSERT_TRUE(first && second);
    a = std::move(*first);
    b = std::move(*second);
    a->set_sink(&at_a);
    b->set_sink(&at_b);
    const auto there = a->connect(b->address());
    const auto back = b->connect(a->address());
    ASSERT_TRUE(there && back);
    to_b = *there;
    to_a = *back;
  }

  recorder at_a, at_b;
  std::unique_ptr<runtime::link> a, b;
  runtime::peer_id to_b = 0, to_a = 0;
};

}  // namespace tidegate::tests
