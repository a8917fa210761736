// A shard alone, on a reactor, and workers that are nothing but links: they send it what the
// test says, and keep what it answers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/control/system.hpp"
#include "actors/node/shard_actor.hpp"
#include "actors/reactor/peer_address.hpp"
#include "actors/reactor/reactor_actor.hpp"
#include "policies/coordinator/core.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/hooked_link.hpp"

namespace tidegate::tests {

using policies::reply_code;
using runtime::frame_header;
using runtime::frame_kind;

constexpr std::uint64_t token = 7;
constexpr std::uint32_t table = 3;

// One incarnation of a worker.
class peer final : public runtime::frame_sink {
 public:
  peer(runtime::loopback_network& network, const std::string& shard, std::uint32_t rank,
       std::uint32_t incarnation)
      : link_(network.make_link()), rank_(rank), incarnation_(incarnation) {
    link_->set_sink(this);
    shard_ = link_->connect(actors::link_of(shard)).value_or(0);
  }

  std::string address() const {
    return actors::peer_address(runtime::host_identity(), link_->address());
  }
  policies::admit_worker_call admission() const {
    return {.token = token,
            .rank = rank_,
            .incarnation = incarnation_,
            .address = address(),
            .tables = {table}};
  }
  frame_header header(frame_kind kind, std::uint32_t chunk, std::uint64_t clock) const {
    frame_header header;
    header.kind = kind;
    header.job = token;
    header.epoch = 1;
    header.incarnation = incarnation_;
    header.worker = rank_;
    header.table = table;
    header.chunk = chunk;
    header.clock = clock;
    return header;
  }
  void post(frame_header header, std::span<const std::byte> payload = {}) {
    header.payload_bytes = payload.size();
    link_->post(shard_, header, payload, 0);
  }
  void pull(std::uint32_t chunk, std::uint64_t clock = 0) {
    auto asked = header(frame_kind::pull, chunk, clock);
    asked.request = ++request_;
    post(asked);
  }
  void push(std::uint32_t chunk, std::uint64_t clock, const std::vector<float>& gradient) {
    post(header(frame_kind::push, chunk, clock), std::as_bytes(std::span(gradient)));
  }
  void skip(std::uint32_t chunk, std::uint64_t clock) {
    post(header(frame_kind::skip, chunk, clock));
  }
  void ring(std::uint64_t clock, std::uint16_t flags) {
    auto doorbell = header(frame_kind::doorbell, 0, clock);
    doorbell.flags = flags;
    doorbell.request = ++request_;
    post(doorbell);
  }
  // Shares a gradient of `elements`, twice, with the shard; the half of even clocks.
  std::span<float> attach(std::size_t elements, const std::string& label = "worker") {
    const auto half = runtime::segment::huge_page_bytes;
    auto segment = runtime::segment::create(label, 2 * half);
    EXPECT_TRUE(segment);
    const auto wire =
        runtime::encode({.segment = segment->name(), .copy_bytes = half, .offset = 0});
    post(header(frame_kind::attach, 0, 0), wire);
    memory_ = std::move(*segment);
    return {reinterpret_cast<float*>(memory_.data()), elements};
  }
  // The worker's process is gone: nothing of its memory is left but what others have mapped.
  void die() {
    link_->close(0);
    memory_ = {};
  }

  // Waits for the next frame of this kind; those before it are forgotten.
  frame_header next(frame_kind kind) {
    while (true) {
      for (auto at = frames_.begin(); at != frames_.end(); ++at) {
        if (at->kind != kind) continue;
        const auto found = *at;
        frames_.erase(frames_.begin(), at + 1);
        return found;
      }
      frames_.clear();
      if (link_->progress() == 0) std::this_thread::yield();
    }
  }
  // How many frames of this kind have come by now, and were not asked for yet.
  std::size_t all_that_came(frame_kind kind) {
    while (link_->progress() > 0) {
    }
    return static_cast<std::size_t>(std::ranges::count(frames_, kind, &frame_header::kind));
  }
  // The parameters that came last.
  const std::vector<float>& received() const { return received_; }

 private:
  runtime::buffer place(const frame_header& header) override {
    received_.resize(header.payload_bytes / sizeof(float));
    return runtime::buffer::view(std::as_writable_bytes(std::span(received_)));
  }
  void on_frame(const frame_header& header, runtime::buffer) override {
    frames_.push_back(header);
  }
  void on_frame_lost(const frame_header&) override {}
  void on_sent(runtime::send_token, const runtime::status&) override {}
  void on_bad_frame(const runtime::status&) override {}
  void on_peer_lost(runtime::peer_id, const runtime::status&) override {}

  std::unique_ptr<runtime::link> link_;
  runtime::peer_id shard_ = 0;
  std::uint32_t rank_;
  std::uint32_t incarnation_;
  std::uint64_t request_ = 0;
  runtime::segment memory_;
  std::vector<frame_header> frames_;
  std::vector<float> received_;
};

class endpoint_test : public testing::Test {
 protected:
  static constexpr std::uint64_t elements = 16;  // of a chunk

  void SetUp() override {
    auto reactor = actors::reactor::start(
        process.get(),
        [this] {
          return runtime::expected<std::unique_ptr<runtime::link>>(
              hooks.on(network.make_link()));
        },
        runtime::host_identity());
    ASSERT_TRUE(reactor);
    home = std::move(*reactor);
    shard = actors::spawn_on<actors::shard>(*home, process.get(), 0u);
  }
  void TearDown() override { stop(); }
  void stop() {
    if (!shard) return;
    caf::scoped_actor self(process.get());
    self->send(shard, actors::stop_atom::value);
    self->wait_for(shard);
    shard = nullptr;
    home.reset();
  }

  template <class Call>
  bool call(const Call& item) {
    caf::scoped_actor self(process.get());
    bool done = false;
    self->request(shard, std::chrono::seconds(60), item)
        .receive([&](actors::done_atom) { done = true; }, [](caf::error&) {});
    return done;
  }
  // The clock at which this worker is to go on.
  std::optional<std::uint64_t> admit(const policies::admit_worker_call& call) {
    caf::scoped_actor self(process.get());
    std::optional<std::uint64_t> first;
    self->request(shard, std::chrono::seconds(60), call)
        .receive([&](std::uint64_t clock) { first = clock; }, [](caf::error&) {});
    return first;
  }
  void open_job(policies::consistency_spec consistency, std::uint32_t workers) {
    policies::open_job_call open_job_call;
    open_job_call.token = token;
    open_job_call.epoch = 1;
    open_job_call.workers = workers;
    open_job_call.name = "job";
    open_job_call.consistency = consistency;
    open_job_call.reduce = policies::reduce_kind::sum;
    ASSERT_TRUE(call(open_job_call));
  }
  // SGD that subtracts the gradient, from zero.
  bool open_table(std::uint32_t chunks, std::uint64_t size = elements) {
    policies::open_table_call open_table_call;
    open_table_call.token = token;
    open_table_call.table = table;
    open_table_call.optimizer.kind = policies::optimizer_kind::sgd;
    open_table_call.optimizer.learning_rate = 1.0F;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      open_table_call.places.push_back({chunk, 0, chunk * size, size});
    return call(open_table_call);
  }
  std::unique_ptr<peer> join(std::uint32_t rank, std::uint32_t incarnation = 1) {
    auto result = std::make_unique<peer>(network, home->address(), rank, incarnation);
    EXPECT_TRUE(admit(result->admission()));
    return result;
  }

  actors::process_system process;
  runtime::loopback_network network;
  link_hooks hooks;
  std::unique_ptr<actors::reactor> home;
  actors::shard_actor shard;
};

}  // namespace tidegate::tests
