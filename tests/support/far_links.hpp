// Two links between hosts, in one process, connected to each other, as a fixture: over UCX,
// over streams, or over streams that are sealed, by the parameter.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/streams/stream_link.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::tests {

class far_links : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<runtime::link> make() {
    auto link = GetParam() == "ucx"
                    ? runtime::make_ucx_link()
                    : runtime::open_stream_link({.sealed = GetParam() == "sealed_streams"});
    EXPECT_TRUE(link) << link.error().message();
    return link ? std::move(*link) : nullptr;
  }

  void SetUp() override {
    a = make();
    b = make();
    ASSERT_TRUE(a && b);
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

inline auto all_far_links() {
  return testing::Values("ucx", "streams", "sealed_streams");
}

}  // namespace tidegate::tests
