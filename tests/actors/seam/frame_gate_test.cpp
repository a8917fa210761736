// When frames go whose shell has memory that works by itself.
#include "actors/seam/frame_gate.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/link_recorder.hpp"
#include "tests/support/small_ingress.hpp"

namespace tidegate::tests {
namespace {

// A home with a link, whose turns are the test's.
class linked_home final : public actors::shell_home {
 public:
  explicit linked_home(runtime::link& link) : link_(link) {}

  void log(actors::severity, const std::string&) override {}
  runtime::link& link() noexcept override { return link_; }
  std::int64_t now() const override { return 0; }
  const actors::shell_limits& limits() const noexcept override { return limits_; }
  const std::string& address() const noexcept override { return address_; }
  runtime::expected<runtime::peer_id> connect(const std::string&) override { return 0; }
  bool shares_memory_with(const std::string&) const override { return false; }
  runtime::status fence(const std::string&) override { return {}; }
  void break_link() override {}
  void after_progress(actors::continuation&) override {}
  void before_progress(actors::continuation& work) override { waits = &work; }
  void forget(const actors::continuation&) override {}
  void report_unreachable(const std::vector<policies::unreachable_peer>&) override {}
  void look_in(std::int64_t) override {}

  actors::continuation* waits = nullptr;

 private:
  runtime::link& link_;
  actors::shell_limits limits_;
  std::string address_;
};

class frame_gate_test : public testing::Test {
 protected:
  frame_gate_test() {
    own->set_sink(&nobody);
    other->set_sink(&heard);
    peer = *own->connect(other->address(), runtime::reach::network);
  }

  static runtime::frame_header numbered(std::uint64_t number) {
    runtime::frame_header header;
    header.kind = runtime::frame_kind::push_ack;
    header.clock = number;
    return header;
  }
  void send(std::uint64_t number) { gate.send(peer, numbered(number)); }
  void send_parameters(std::uint64_t number, runtime::send_token done) {
    auto header = push_header(memory.parameters.size(), number);
    gate.send_parameters(peer, header, 0, 0, 1, done);
  }
  std::vector<std::uint64_t> arrived() {
    if (auto* const next = std::exchange(home.waits, nullptr)) next->go_on();
    for (int i = 0; i < 4; ++i) {
      own->progress();
      other->progress();
    }
    std::vector<std::uint64_t> clocks;
    for (const auto& arrival : heard.arrivals) clocks.push_back(arrival.header.clock);
    return clocks;
  }
  using numbers = std::vector<std::uint64_t>;

  runtime::loopback_network network;
  std::unique_ptr<runtime::link> own = network.make_link(), other = network.make_link();
  recorder nobody, heard;
  runtime::peer_id peer = 0;
  linked_home home{*own};
  small_ingress memory;
  actors::frame_sender sender{home};
  actors::frame_gate gate{sender, memory, runtime::function_library::built_in()};
};

TEST_F(frame_gate_test, is_open_while_nothing_is_under_way) {
  send(1);
  send_parameters(2, 7);
  EXPECT_EQ(arrived(), (numbers{1, 2}));
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST_F(frame_gate_test, holds_a_frame_until_the_work_before_it_has_ended) {
  memory.work().begin(1);
  send(1);
  memory.work().begin(2);
  send(2);
  send_parameters(3, 7);
  EXPECT_EQ(memory.payloads_asked, 0) << "parameters are not there yet";
  EXPECT_EQ(arrived(), numbers{});
  EXPECT_EQ(gate.waiting(), 3U);
  memory.work().end(1);
  gate.let_go();
  EXPECT_EQ(arrived(), numbers{1});
  memory.work().end(2);
  send(4);
  EXPECT_EQ(arrived(), numbers{1}) << "nothing overtakes";
  gate.let_go();
  EXPECT_EQ(arrived(), (numbers{1, 2, 4, 3})) << "payload goes when the turn ends";
  EXPECT_EQ(memory.payloads_asked, 1);
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST_F(frame_gate_test, lets_pass_what_tells_of_a_connection) {
  memory.work().begin(1);
  send(1);
  auto header = numbered(2);
  header.kind = runtime::frame_kind::resent;
  gate.send(peer, header);
  EXPECT_EQ(arrived(), numbers{2});
}

TEST_F(frame_gate_test, drops_what_waits_for_a_peer) {
  const auto another = *own->connect(network.make_link()->address(), runtime::reach::network);
  memory.work().begin(1);
  send(1);
  send_parameters(2, 7);
  gate.send(another, numbered(3));
  std::vector<runtime::send_token> dropped;
  gate.drop(peer, dropped);
  EXPECT_EQ(dropped, std::vector<runtime::send_token>{7});
  gate.drop(peer, dropped);
  EXPECT_EQ(dropped.size(), 1U) << "each is told once";
  memory.work().end(1);
  gate.let_go();
  EXPECT_EQ(arrived(), numbers{});
}

// An answer that counts how often it is worked out.
class counted_answer final : public actors::late_answer {
 public:
  explicit counted_answer(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void finish(const runtime::function_library&) override {
    ++finished;
    std::fill(bytes_.begin(), bytes_.end(), std::byte{7});
  }
  int finished = 0;

 private:
  std::vector<std::byte>& bytes_;
};

TEST_F(frame_gate_test, works_out_a_late_answer_when_its_frame_goes) {
  std::vector<std::byte> bytes(64, std::byte{0});
  const auto answer = std::make_shared<counted_answer>(bytes);
  memory.work().begin(1);
  gate.send(peer, push_header(bytes.size(), 1), bytes, 1, 7, answer);
  gate.send(peer, push_header(bytes.size(), 2), bytes, 2, 8, answer);
  EXPECT_EQ(arrived(), numbers{});
  EXPECT_EQ(answer->finished, 0);
  memory.work().end(1);
  gate.let_go();
  EXPECT_EQ(arrived(), (numbers{1, 2}));
  EXPECT_EQ(answer->finished, 2);
  EXPECT_EQ(heard.arrivals[0].payload.front(), std::byte{7});
  gate.send(peer, push_header(bytes.size(), 3), bytes, 1, 9, answer);
  EXPECT_EQ(answer->finished, 3) << "at once while nothing is under way";
  EXPECT_EQ(arrived(), (numbers{1, 2, 3}));
}

// Of parameters as they are then; those of 8 bytes are two numbers.
TEST_F(frame_gate_test, computes_results_when_the_frame_goes) {
  runtime::call_wire call;
  runtime::encode(runtime::function_call{.name = "sum", .arguments = {}}, call);
  const auto header = [](std::uint64_t number) {
    auto reply = numbered(number);
    reply.kind = runtime::frame_kind::call_reply;
    reply.payload_bytes = runtime::call_payload_bytes;
    return reply;
  };
  memory.work().begin(1);
  gate.send_results(peer, header(1), 0, 0, call, 1, 7);
  runtime::encode(runtime::function_call{.name = "no such", .arguments = {}}, call);
  gate.send_results(peer, header(2), 0, 0, call, 2, 8);
  EXPECT_EQ(arrived(), numbers{});
  const float values[] = {2.5F, -1.0F};
  std::memcpy(memory.parameters.data(), values, sizeof values);
  memory.work().end(1);
  gate.let_go();
  EXPECT_EQ(arrived(), (numbers{1, 2}));
  const auto sum = runtime::decode_results(heard.arrivals[0].payload);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->numbers[0], 1.5);
  EXPECT_EQ(runtime::decode_results(heard.arrivals[1].payload)->outcome,
            runtime::errc::not_found);
  memory.work().begin(2);
  gate.send_results(peer, header(3), 0, 0, call, 1, 9);
  std::vector<runtime::send_token> dropped;
  gate.drop(peer, dropped);
  EXPECT_EQ(dropped, std::vector<runtime::send_token>{9});
  memory.work().end(2);
  gate.let_go();
  EXPECT_EQ(arrived(), (numbers{1, 2})) << "what was dropped is not computed";
}

TEST_F(frame_gate_test, nothing_allocates_once_it_is_warm) {
  std::uint64_t piece = 0;
  const auto turn = [&] {
    for (int i = 0; i < 20; ++i) {
      memory.work().begin(++piece);
      gate.send(peer, numbered(piece));
    }
    memory.work().end(piece);
    gate.let_go();
  };
  for (int i = 0; i < 20; ++i) turn();
  arrived();
  const auto before = allocations();
  for (int i = 0; i < 20; ++i) {
    memory.work().begin(++piece);
    gate.send(peer, numbered(piece));
  }
  EXPECT_EQ(allocations() - before, 0U);
}

}  // namespace
}  // namespace tidegate::tests
