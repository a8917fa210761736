// One end of a link between processes of one host, for tests, and what they share. One thread.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/transport/host_link.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::tests {

inline runtime::frame_header pull_of(std::uint64_t number) {
  runtime::frame_header header;
  header.kind = runtime::frame_kind::pull;
  header.clock = number;
  return header;
}

struct host_end {
  host_end() {
    auto link = runtime::make_host_link(network.make_link());
    EXPECT_TRUE(link) << link.error().message();
    self = std::move(*link);
    self->set_sink(&sink);
  }
  runtime::peer_id connect(const host_end& other) {
    const auto connected = self->connect(other.self->address());
    EXPECT_TRUE(connected) << connected.error().message();
    return *connected;
  }

  runtime::loopback_network network;
  recorder sink;
  std::unique_ptr<runtime::link> self;
};

inline bool until(host_end& a, host_end& b, const std::function<bool()>& condition) {
  return until(*a.self, *b.self, condition);
}

// Of this process, both those that it writes and those that it reads.
inline std::size_t mapped_rings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("tidegate-ring") != std::string::npos) ++count;
  return count;
}

}  // namespace tidegate::tests
