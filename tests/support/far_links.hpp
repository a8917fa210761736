// Two links between hosts, in one process, connected to each other, as a fixture: over UCX,
// over streams, or over streams that are sealed, by the parameter.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/streams/stream_link.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "tests/support/link_pair.hpp"

namespace tidegate::tests {

class far_links : public testing::TestWithParam<std::string>, protected link_pair {
 protected:
  static std::unique_ptr<runtime::link> make() {
    if (GetParam() == "ucx") return link_of(runtime::make_ucx_link());
    return link_of(runtime::open_stream_link({.sealed = GetParam() == "sealed_streams"}));
  }
  void SetUp() override { join(make(), make()); }
};

inline auto all_far_links() {
  return testing::Values("ucx", "streams", "sealed_streams");
}

}  // namespace tidegate::tests
