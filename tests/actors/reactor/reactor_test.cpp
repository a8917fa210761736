// Who drives a reactor, and that nothing that is ready is left lying when nobody does.
#include "actors/reactor/reactor.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/reactor/reactor_actor.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {
namespace {

constexpr auto retransmit_timer = std::chrono::seconds(20);

// Counts down: sends itself the next number, and says on which thread it has come to zero.
class countdown final : public actors::reactor_actor<caf::event_based_actor> {
 public:
  countdown(caf::actor_config& config, actors::reactor& home,
            std::promise<std::thread::id>& at_zero)
      : actors::reactor_actor<caf::event_based_actor>(config, home), at_zero_(at_zero) {}

 protected:
  caf::behavior make_behavior() override {
    return {[this](int n) {
      if (n == 0) return at_zero_.set_value(std::this_thread::get_id());
      send(this, n - 1);
    }};
  }

 private:
  std::promise<std::thread::id>& at_zero_;
};

class reactor_test : public testing::Test {
 protected:
  void SetUp() override {
    auto reactor = actors::reactor::start(
        process.get(),
        [this] {
          return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
        },
        0);
    ASSERT_TRUE(reactor);
    home = std::move(*reactor);
    counter = actors::spawn_on<countdown>(*home, process.get(), std::ref(at_zero));
  }
  void TearDown() override { counter = nullptr; }
  bool comes() {
    return at_zero.get_future().wait_for(retransmit_timer) == std::future_status::ready;
  }

  actors::process_system process;
  runtime::loopback_network network;
  std::unique_ptr<actors::reactor> home;
  std::promise<std::thread::id> at_zero;
  caf::actor counter;
};

TEST_F(reactor_test, runs_messages_of_other_threads) {
  caf::anon_send(counter, 3);
  EXPECT_TRUE(comes());
}

TEST_F(reactor_test, and_when_it_rests_in_the_background) {
  home->run_in_background(false);
  caf::anon_send(counter, 3);
  EXPECT_TRUE(comes());
}

// An actor that is ready already wakes nobody when it is sent something more.
TEST_F(reactor_test, what_a_driver_leaves_ready_is_run) {
  home->run_in_background(false);
  {
    actors::reactor::inline_driver driver(*home);
    caf::anon_send(counter, 300);  // more than an actor is given in one turn
  }
  EXPECT_TRUE(comes());
}

class counter_of_turns final : public actors::reactor::continuation {
 public:
  explicit counter_of_turns(actors::reactor& home) : home_(home) {}
  void go_on() override {
    ++turns;
    home_.after_progress(*this);
  }
  int turns = 0;

 private:
  actors::reactor& home_;
};

TEST_F(reactor_test, what_is_put_off_is_done_once_a_turn) {
  actors::reactor::inline_driver driver(*home);
  counter_of_turns work(*home);
  driver.turn();
  EXPECT_EQ(work.turns, 0);
  home->after_progress(work);
  for (int turn = 1; turn <= 3; ++turn) {
    EXPECT_TRUE(driver.turn());
    EXPECT_EQ(work.turns, turn);
  }
  home->forget(work);
  driver.turn();
  EXPECT_EQ(work.turns, 3);
}

class notes_the_countdown final : public actors::reactor::continuation {
 public:
  explicit notes_the_countdown(std::future<std::thread::id> reached)
      : reached_(std::move(reached)) {}
  void go_on() override {
    ++turns;
    was_reached = reached_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  int turns = 0;
  bool was_reached = false;

 private:
  std::future<std::thread::id> reached_;
};

TEST_F(reactor_test, the_end_of_a_turn_is_after_its_actors) {
  home->run_in_background(false);
  actors::reactor::inline_driver driver(*home);
  notes_the_countdown work(at_zero.get_future());
  home->before_progress(work);
  caf::anon_send(counter, 3);
  EXPECT_EQ(work.turns, 0);
  driver.turn();
  EXPECT_EQ(work.turns, 1);
  EXPECT_TRUE(work.was_reached);
  driver.turn();
  EXPECT_EQ(work.turns, 1) << "once";
  home->before_progress(work);
  home->forget(work);
  driver.turn();
  EXPECT_EQ(work.turns, 1);
}

TEST_F(reactor_test, an_inline_driver_drives) {
  home->run_in_background(false);
  auto reached = at_zero.get_future();
  actors::reactor::inline_driver driver(*home);
  caf::anon_send(counter, 300);
  driver.run_until(
      [&] { return reached.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  EXPECT_EQ(reached.get(), std::this_thread::get_id()) << "the thread of the inline driver";
}

}  // namespace
}  // namespace tidegate::tests
