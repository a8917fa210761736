// What the tests of sessions share: links of one in-process network, and short words.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {

using policies::consistency_kind;
using runtime::errc;
using tidegate::session;
using floats = std::vector<float>;

class session_test : public testing::Test {
 protected:
  actors::link_factory links() {
    return [this] {
      return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
    };
  }
  static tidegate::table open(session& s, std::uint64_t size, float init = 0.0F) {
    tidegate::table_options options;
    options.init_constant = init;
    auto table = s.open_table("t", {size}, options);
    EXPECT_TRUE(table) << table.error().message();
    return *table;
  }
  static void expect(const runtime::status& got, errc code, const std::string& part) {
    EXPECT_EQ(got.code(), code) << got.to_string();
    EXPECT_NE(got.message().find(part), std::string::npos) << got.message();
  }

  runtime::loopback_network network;
};

}  // namespace tidegate::tests
