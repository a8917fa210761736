// The side of a shard that faces two workers, over a shell that notes what is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/ingress_core.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

// Notes the frames that are sent; everything is sent at once.
class noting_shell final : public ingress_shell {
 public:
  ingress_core* core = nullptr;
  struct sent_frame {
    peer_id to;
    frame_header header;
  };
  std::vector<sent_frame> frames;
  bool goes_on = false;
  bool posts = false;
  bool windows = false;

  reply_code apply(const effects::apply&, inputs) override { return reply_code::ok; }
  double measure(const effects::measure&, inputs) override { return 0; }
  void hand_on(const effects::hand_on&, inputs) override {}
  void ask(const effects::ask&) override {}
  void snapshot(const effects::snapshot&, const shard_core::cut_state&) override {}
  void replicate(const effects::replicate&) override {}
  void seed(const effects::seed&) override {}
  void replicate_farewell(const effects::replicate_farewell&) override {}
  void followed(const effects::followed&) override {}
  void show(std::span<const std::uint32_t>, std::uint32_t) override {}
  void send(peer_id to, const frame_header& header) override { frames.push_back({to, header}); }
  void send_place(peer_id to, const frame_header& header) override { send(to, header); }
  void send_parameters(peer_id to, const frame_header& header, std::uint32_t, std::uint32_t,
                       send_name name) override {
    send(to, header);
    if (holds_sent && to == 1)
      held.push_back(name);
    else
      core->sent(name);
  }
  void send_results(peer_id to, const frame_header& header, std::uint32_t slot,
                    std::uint32_t version_buffer, payload_handle, send_name name) override {
    send_parameters(to, header, slot, version_buffer, name);
  }
  bool holds_sent = false;
  std::vector<send_name> held;
  void drop(peer_id, std::vector<send_name>&) override {}
  std::optional<peer_id> reconnect(const member_key&) override { return next_peer; }
  std::optional<peer_id> next_peer;
  reply_code map_gradients(const member_key&, std::uint32_t,
                           std::span<const std::byte>) override {
    return windows ? reply_code::ok : reply_code::no_window;
  }
  payload_handle keep_in_place(const member_key&, std::uint32_t, std::uint32_t, std::uint32_t,
                               bool) override {
    return no_payload;
  }
  void release(payload_handle) override {}
  void forget(const member_key& member) override { forgotten.push_back(member.rank); }
  std::vector<std::uint32_t> forgotten;
  std::uint64_t bytes_of(std::uint32_t) const override { return 32; }
  void go_on_soon() override { goes_on = true; }
  void post_acks_soon() override { posts = true; }
  void note_refusal(const frame_tag&, reply_code) override {}
};

class ingress_of_two : public testing::Test {
 protected:
  explicit ingress_of_two(std::uint64_t job_epoch = epoch) : ingress_(shell_, core_, 0) {
    shell_.core = &ingress_;
    core_.admin().open_job(job, {.epoch = job_epoch,
                                 .workers = 2,
                                 .consistency = {consistency_kind::bsp, 0},
                                 .workers_come_back = true,
                                 .members = {}});
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}};
    core_.admin().open_table(job, 5, places);
    for (std::uint32_t rank = 0; rank < 2; ++rank) join(rank, 1, rank);
  }

  void join(std::uint32_t rank, std::uint32_t incarnation, std::uint32_t peer) {
    const admit_worker_call call{
        .token = job, .rank = rank, .incarnation = incarnation, .address = "", .tables = {5}};
    EXPECT_EQ(ingress_.admit(call).code, reply_code::ok);
    ingress_.connected(call, peer);
  }

  // A push, and with it the pull of the next clock.
  frame_header exchange(std::uint32_t rank, std::uint32_t incarnation) {
    auto header = header_of(frame_kind::push, tag(rank, 0), reply_code::ok);
    header.incarnation = incarnation;
    header.payload_bytes = 32;
    header.flags = runtime::frame_flag_pull;
    return header;
  }

  // As a link does; whether it had a place.
  bool arrive(const frame_header& header) {
    const bool placed = ingress_.place(header);
    if (placed) ingress_.frame(header, ++payloads_, {}, 0);
    while (std::exchange(shell_.goes_on, false)) ingress_.go_on();
    return placed;
  }

  // Replies with parameters that peer `to` got for the pull of clock 1.
  int replies_to(std::uint32_t to) const {
    int found = 0;
    for (const auto& [peer, header] : shell_.frames)
      found += peer == to && header.kind == frame_kind::pull_reply && header.code == 0 &&
               header.clock == 1;
    return found;
  }

  noting_shell shell_;
  shard_core core_;
  ingress_core ingress_;
  payload_handle payloads_ = 0;
};

}  // namespace tidegate::policies
