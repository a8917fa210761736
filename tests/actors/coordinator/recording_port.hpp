// A port and a storage of a coordinator that write down what they are told.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/coordinator/control_port.hpp"

namespace tidegate::actors {

inline constexpr std::int64_t second = 1'000'000'000;

class recording_port final : public control_port, public coordinator_storage {
 public:
  void log_error(const std::string&) override {}
  std::int64_t unix_now() const override { return now; }
  std::int64_t steady_now() const override { return now; }
  void watch(const control_peer& peer) override { say("watch", peer); }
  void call(const control_peer& to, policies::call_id call,
            const policies::shard_call&) override {
    say("call", to);
    calls.push_back(call);
  }
  void tell(const control_peer& to, const policies::shard_moved&) override { say("moved", to); }
  void tell(const control_peer& to, const policies::host_call&) override { say("host", to); }
  void stop(const control_peer& member) override { say("stop", member); }
  void expel(const control_peer& member, const runtime::status&) override {
    say("expel", member);
  }
  bool may_live(const std::string& address) const override { return address != dead; }
  void look_in(std::int64_t) override { ++looks; }
  void end(const runtime::status& why) override { said.push_back("end " + why.to_string()); }

  const policies::restored_cluster& found() const override { return nothing; }
  void write(const std::vector<policies::coordinator_record>& records, done then) override {
    EXPECT_FALSE(records.empty());
    said.emplace_back("write");
    if (!holds) return then(disk);
    held = std::move(then);
  }
  void begin_after(const std::string&, policies::checkpoint_id) override {}
  policies::checkpoint_id begin(const std::string&) override { return {}; }
  void write(const policies::coordinator_effects::write_manifest&, done then) override {
    then({});
  }

  std::vector<std::string> take() { return std::exchange(said, {}); }

  std::int64_t now = second;
  std::string dead;
  std::vector<std::string> said;
  std::vector<policies::call_id> calls;
  int looks = 0;
  bool holds = false;  // the journal does not answer at once
  runtime::status disk;
  done held;

 private:
  void say(const std::string& verb, const control_peer& peer) {
    said.push_back(verb + " " + std::to_string(peer.handle));
  }
  policies::restored_cluster nothing;
};

}  // namespace tidegate::actors
