// A sink that keeps all that a link tells, and what tests of links share. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/transport/link.hpp"

namespace tidegate::tests {

struct recorder final : runtime::frame_sink {
  struct arrival {
    runtime::frame_header header;
    std::vector<std::byte> payload;
  };

  runtime::buffer place(const runtime::frame_header& header) override {
    if (refuse || refused_clocks.contains(header.clock)) return {};
    places.emplace_back(header.payload_bytes);
    return runtime::buffer::view(places.back());
  }
  void on_frame(const runtime::frame_header& header, runtime::buffer payload) override {
    arrivals.push_back({header, {payload.bytes().begin(), payload.bytes().end()}});
  }
  void on_frame_lost(const runtime::frame_header& header) override {
    frames_lost.push_back(header);
  }
  void on_sent(runtime::send_token token, const runtime::status& outcome) override {
    sent[token] = outcome;
    sent_tokens.push_back(token);
  }
  void on_bad_frame(const runtime::status& why) override { bad.push_back(why.message()); }
  void on_peer_lost(runtime::peer_id peer, const runtime::status& why) override {
    lost.push_back(peer);
    lost_why.push_back(why);
  }

  bool refuse = false;
  std::set<std::uint64_t> refused_clocks;
  std::vector<runtime::send_token> sent_tokens;
  std::deque<std::vector<std::byte>> places;
  std::vector<arrival> arrivals;
  std::map<runtime::send_token, runtime::status> sent;
  std::vector<std::string> bad;
  std::vector<runtime::peer_id> lost;
  std::vector<runtime::status> lost_why;
  std::vector<runtime::frame_header> frames_lost;
};

inline runtime::frame_header push_header(std::uint64_t bytes, std::uint64_t number) {
  runtime::frame_header header;
  header.kind = runtime::frame_kind::push;
  header.clock = number;
  header.payload_bytes = bytes;
  return header;
}

// Progresses both until the condition holds; false after ten seconds.
inline bool until(runtime::link& a, runtime::link& b, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    a.progress();
    b.progress();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

}  // namespace tidegate::tests
