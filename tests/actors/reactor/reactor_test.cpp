// Who drives a reactor, and that nothing that is ready is left lying when nobody does.
#include "actors/reactor/reactor.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/reactor/reactor_actor.hpp"
#include "runtime/base/unique_fd.hpp"
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

// Of all threads but the calling one.
long switches_of_others() {
  long all = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("voluntary_")) all += std::stol(line.substr(line.find(':') + 1));
  }
  return all;
}

// Says when the first frame is there.
class first_frame final : public runtime::frame_sink {
 public:
  runtime::buffer place(const runtime::frame_header&) override { return {}; }
  void on_frame(const runtime::frame_header&, runtime::buffer) override {
    arrived.set_value(std::this_thread::get_id());
  }
  void on_frame_lost(const runtime::frame_header&) override {}
  void on_sent(runtime::send_token, const runtime::status&) override {}
  void on_bad_frame(const runtime::status&) override {}
  void on_peer_lost(runtime::peer_id, const runtime::status&) override {}

  std::promise<std::thread::id> arrived;
};

TEST_F(reactor_test, its_thread_sleeps_while_an_inline_driver_waits_and_drives_after_it) {
  using clock = std::chrono::steady_clock;
  const auto far = network.make_link();
  first_frame frame;
  auto arrived = frame.arrived.get_future();
  auto counted = at_zero.get_future();
  {
    actors::reactor::inline_driver driver(*home);
    home->open_link(&frame);
    const auto before = switches_of_others();
    const auto end = clock::now() + std::chrono::milliseconds(300);
    std::jthread wakes([&] {
      std::this_thread::sleep_until(end);
      caf::anon_send(counter, 1);
    });
    driver.run_until(
        [&] { return counted.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    EXPECT_LT(switches_of_others() - before, 50);
  }
  const auto peer = far->connect(home->link().address(), runtime::reach::host);
  far->post(*peer, {.kind = runtime::frame_kind::resend}, {}, 0);
  while (far->progress() > 0) continue;
  ASSERT_EQ(arrived.wait_for(retransmit_timer), std::future_status::ready);
  EXPECT_NE(arrived.get(), std::this_thread::get_id());
  actors::reactor::inline_driver driver(*home);
  home->close_link();
}

// Ends at its first message, and the last use of its reactor with it. Then somebody keeps the
// processor busy on which it has run.
class ends_at_once final : public actors::reactor_actor<caf::event_based_actor> {
 public:
  ends_at_once(caf::actor_config& config, actors::reactor& home, std::promise<pid_t>& runs_on,
               std::jthread& busy)
      : actors::reactor_actor<caf::event_based_actor>(config, home),
        runs_on_(runs_on),
        busy_(busy) {}

 protected:
  caf::behavior make_behavior() override {
    runs_on_.set_value(::gettid());
    return {[this](int) {
      busy_ = std::jthread([](const std::stop_token& end) {
        while (!end.stop_requested()) continue;
      });
      quit();
    }};
  }

 private:
  std::promise<pid_t>& runs_on_;
  std::jthread& busy_;
};

void run_this_thread_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return stat.substr(stat.rfind(')') + 1).starts_with(" S");
}

void send_as_the_last_thread(const caf::actor& actor, pid_t sleeper) {
  while (!is_asleep(sleeper)) std::this_thread::yield();
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  caf::anon_send(actor, 1);
}

// The sender comes last on its processor, which the reactor's thread shares: it stands still in
// the middle of waking that thread until the reactor is gone. What is freed is overwritten
// (CMakeLists.txt).
TEST(reactor, outlives_who_sends_the_last_message) {
  actors::process_system process;
  runtime::loopback_network network;
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<unsigned> processors;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &before)) processors.push_back(i);
  for (int round = 0; round < 20; ++round) {
    run_this_thread_on(processors.front());
    auto home = actors::reactor::start(
        process.get(),
        [&] { return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link()); },
        0);
    ASSERT_TRUE(home);
    std::promise<pid_t> runs_on;
    std::jthread busy;
    auto actor = actors::spawn_on<ends_at_once>(**home, process.get(), std::ref(runs_on),
                                                std::ref(busy));
    caf::scoped_actor self(process.get());
    self->monitor(actor);
    const auto thread = runs_on.get_future().get();
    std::thread sender([=] { send_as_the_last_thread(actor, thread); });
    run_this_thread_on(processors.back());
    self->receive([](const caf::down_msg&) {});
    // The reactor waits for the sender, which needs the processor.
    std::thread relief([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      busy = {};
    });
    home->reset();
    relief.join();
    sender.join();
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

// Its descriptor says that there is something to do, and then there is nothing.
class restless_link final : public runtime::link {
 public:
  restless_link(std::unique_ptr<runtime::link> calm, std::atomic<int>& arms)
      : calm_(std::move(calm)), arms_(arms), ready_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void set_sink(runtime::frame_sink* sink) override { calm_->set_sink(sink); }
  std::string address() const override { return calm_->address(); }
  runtime::expected<runtime::peer_id> connect(std::string_view address,
                                              runtime::reach where) override {
    return calm_->connect(address, where);
  }
  void disconnect(runtime::peer_id peer) override { calm_->disconnect(peer); }
  void post(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, runtime::send_token token) override {
    calm_->post(peer, header, payload, token);
  }
  void post_bundle(runtime::peer_id peer, std::span<const runtime::outgoing> frames) override {
    calm_->post_bundle(peer, frames);
  }
  std::size_t bundle_frames_most() const override { return calm_->bundle_frames_most(); }
  unsigned progress() override { return 0; }
  int event_fd() const override { return ready_.get(); }
  bool arm() override {
    ++arms_;
    return true;
  }
  void close(std::uint32_t flush_ms_max) override { calm_->close(flush_ms_max); }
  std::shared_ptr<runtime::memory_source> memory() override { return calm_->memory(); }
  const runtime::link_counters& counters() const override { return calm_->counters(); }

 private:
  std::unique_ptr<runtime::link> calm_;
  std::atomic<int>& arms_;
  runtime::unique_fd ready_;
};

TEST(reactor, does_not_spin_while_its_link_wakes_it_for_nothing) {
  actors::process_system process;
  runtime::loopback_network network;
  std::atomic<int> arms = 0;
  auto home = actors::reactor::start(
      process.get(),
      [&]() -> runtime::expected<std::unique_ptr<runtime::link>> {
        return std::make_unique<restless_link>(network.make_link(), arms);
      },
      0);
  ASSERT_TRUE(home);
  {
    actors::reactor::inline_driver driver(**home);
    (*home)->open_link(nullptr);
  }
  // So many sleeps of a millisecond take more than this, even if some last longer, as on a busy
  // machine, and make the next free of charge; one that spins has tens of thousands by then.
  while (arms < 500) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto before = std::chrono::steady_clock::now();
  const int at_first = arms;
  while (arms < at_first + 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_GT(took, 20 * actors::futile_wakeups::pause_max);
  std::promise<std::thread::id> at_zero;
  auto counter = actors::spawn_on<countdown>(**home, process.get(), std::ref(at_zero));
  caf::anon_send(counter, 3);
  EXPECT_EQ(at_zero.get_future().wait_for(retransmit_timer), std::future_status::ready);
  actors::reactor::inline_driver driver(**home);
  (*home)->close_link(0);
}

}  // namespace
}  // namespace tidegate::tests
