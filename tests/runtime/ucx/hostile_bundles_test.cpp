// A peer that speaks UCX and sends bundles that are none: each is counted and dropped whole,
// and the link goes on.
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include "runtime/ucx/ucx_context.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {
namespace {

struct counter final : frame_sink {
  buffer place(const frame_header& header) override {
    memory.resize(header.payload_bytes);
    return buffer::view(memory);
  }
  void on_frame(const frame_header&, buffer) override { ++frames; }
  void on_frame_lost(const frame_header&) override {}
  void on_sent(send_token, const status&) override {}
  void on_bad_frame(const status& why) override { bad.push_back(why.message()); }
  void on_peer_lost(peer_id, const status&) override {}

  std::vector<std::byte> memory;
  std::size_t frames = 0;
  std::vector<std::string> bad;
};

class hostile_bundles_test : public testing::Test {
 protected:
  void SetUp() override {
    victim = std::move(*make_ucx_link());
    victim->set_sink(&seen);
    context = *make_ucx_context({});
    ucp_worker_params_t worker_params{};
    ASSERT_EQ(ucp_worker_create(context, &worker_params, &worker), UCS_OK);
    const auto address = victim->address();
    ucp_ep_params_t params{};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    ASSERT_EQ(ucp_ep_create(worker, &params, &endpoint), UCS_OK);
  }
  void TearDown() override {
    victim.reset();
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    finish(ucp_ep_close_nbx(endpoint, &param));
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
  }

  void progress() {
    ucp_worker_progress(worker);
    if (victim) victim->progress();
  }
  // False after ten seconds.
  template <class Condition>
  bool until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition() && std::chrono::steady_clock::now() < end) progress();
    return condition();
  }
  bool finish(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request) == UCS_OK;
    const bool done =
        until([&] { return ucp_request_check_status(request) != UCS_INPROGRESS; });
    ucp_request_free(request);
    return done;
  }

  static std::vector<std::byte> headers_of(std::vector<std::uint64_t> sizes) {
    std::vector<std::byte> wire;
    for (const auto bytes : sizes) {
      frame_header header;
      header.payload_bytes = bytes;
      const auto size = encode(header);
      wire.insert(wire.end(), size.begin(), size.end());
    }
    return wire;
  }
  bool send(const std::vector<std::byte>& headers, std::size_t bytes, unsigned flag) {
    const std::vector<std::byte> payload(bytes);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flag;
    return finish(ucp_am_send_nbx(endpoint, bundle_am_id, headers.data(), headers.size(),
                                  payload.data(), payload.size(), &param));
  }
  void expect_refused(const std::vector<std::byte>& headers, std::size_t bytes, unsigned flag,
                      const char* why) {
    seen.bad.clear();
    ASSERT_TRUE(send(headers, bytes, flag)) << why;
    ASSERT_TRUE(until([&] { return !seen.bad.empty(); })) << why;
    EXPECT_NE(seen.bad[0].find(why), std::string::npos) << seen.bad[0];
    EXPECT_EQ(seen.frames, 0U);
  }

  counter seen;
  std::unique_ptr<link> victim;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
};

TEST_F(hostile_bundles_test, are_dropped_whole_and_counted) {
  const auto two = headers_of({8, 16});
  expect_refused(two, 20, UCP_AM_SEND_FLAG_EAGER, "claim more");
  expect_refused(two, 100'000, UCP_AM_SEND_FLAG_EAGER, "leave");
  expect_refused({}, 24, UCP_AM_SEND_FLAG_EAGER, "headers");
  expect_refused(std::vector<std::byte>(100), 24, UCP_AM_SEND_FLAG_EAGER, "headers");
  expect_refused(std::vector<std::byte>(2 * frame_header_bytes), 24, UCP_AM_SEND_FLAG_EAGER,
                 "magic");
  expect_refused(headers_of({1U << 18U, 1U << 18U}), 1U << 19U, UCP_AM_SEND_FLAG_RNDV,
                 "announced");
  EXPECT_EQ(victim->counters().frames_bad, 6U);
  ASSERT_TRUE(send(two, 24, UCP_AM_SEND_FLAG_EAGER));
  EXPECT_TRUE(until([&] { return seen.frames == 2; })) << "a right one still arrives";
}

}  // namespace
}  // namespace tidegate::runtime
