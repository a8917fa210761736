// Two links over UCX in one process that are connected to each other, as a fixture.
#pragma once

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"
#include "tests/support/link_pair.hpp"

namespace tidegate::tests {

class ucx_pair : public testing::Test, protected link_pair {
 protected:
  void SetUp() override {
    join(link_of(runtime::make_ucx_link()), link_of(runtime::make_ucx_link()));
  }
};

}  // namespace tidegate::tests
