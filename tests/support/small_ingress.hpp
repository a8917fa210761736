// The memory of a side that faces workers, with nothing in it: what it says of work is the
// test's, and parameters are a counter.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "actors/seam/ingress_memory.hpp"

namespace tidegate::tests {

class small_ingress final : public actors::ingress_memory {
 public:
  runtime::place_wire place_of_parameters(std::uint32_t) const override { return {}; }
  std::span<const std::byte> payload_of(const runtime::frame_header&, std::uint32_t,
                                        std::uint32_t) override {
    ++payloads_asked;
    return parameters;
  }
  std::uint64_t bytes_of(std::uint32_t) const override { return parameters.size(); }
  std::uint64_t first_of(std::uint32_t) const override { return 0; }
  runtime::buffer lease(std::size_t) override { return {}; }
  runtime::buffer lease_name(std::size_t) override { return {}; }
  policies::payload_handle keep(runtime::buffer) override { return policies::no_payload; }
  policies::payload_handle keep_call(runtime::buffer) override { return policies::no_payload; }
  std::span<const std::byte> call_bytes(policies::payload_handle) const override { return {}; }
  void release(policies::payload_handle) override {}
  runtime::status map_gradients(const policies::member_key&, std::uint32_t,
                                std::span<const std::byte>) override {
    return {};
  }
  policies::payload_handle keep_in_place(const policies::member_key&, std::uint32_t,
                                         std::uint32_t, std::uint32_t, bool) override {
    return policies::no_payload;
  }
  void forget(const policies::member_key&) override {}

  std::array<std::byte, 8> parameters{};
  int payloads_asked = 0;
};

}  // namespace tidegate::tests
