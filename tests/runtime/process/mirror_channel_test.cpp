// The line on which a worker asks for copies of its state.
#include "runtime/process/mirror_channel.hpp"

#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

TEST(mirror_channel, carries_requests_and_answers) {
  auto ends = mirror_channel::make();
  ASSERT_TRUE(ends);
  auto& agent = ends->first;
  EXPECT_FALSE(agent.read()) << "nothing is asked";
  mirror_line worker(std::move(ends->second), 7);
  EXPECT_EQ(worker.every(), 7U);
  worker.ask({.number = 1, .version = 40});
  worker.ask({.number = 2, .version = 47});
  for (const auto& [number, version] : {std::pair(1U, 40U), std::pair(2U, 47U)}) {
    const auto request = agent.read();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->number, number);
    EXPECT_EQ(request->version, version);
  }
  EXPECT_FALSE(agent.read());
  agent.answer(2);
  EXPECT_EQ(worker.await_answer(), 2U);
}

TEST(mirror_channel, ends_the_wait_of_a_worker_whose_agent_is_gone) {
  auto ends = mirror_channel::make();
  ASSERT_TRUE(ends);
  mirror_line worker(std::move(ends->second), 1);
  { const auto gone = std::move(ends->first); }
  EXPECT_FALSE(worker.await_answer());
  worker.ask({.number = 1});  // of nobody, and no harm
}

TEST(mirror_channel, ends_for_an_agent_whose_worker_has_ended_it) {
  auto ends = mirror_channel::make();
  ASSERT_TRUE(ends);
  auto& agent = ends->first;
  mirror_line worker(std::move(ends->second), 1);
  worker.ask({.number = 1});
  worker.end();
  EXPECT_TRUE(agent.read()) << "what was asked before";
  EXPECT_TRUE(agent.is_open());
  EXPECT_FALSE(agent.read());
  EXPECT_FALSE(agent.is_open()) << "or it would be readable for ever";
  agent.answer(1);
}

TEST(mirror_channel, a_worker_that_does_not_listen_holds_up_nobody) {
  auto ends = mirror_channel::make();
  ASSERT_TRUE(ends);
  for (std::uint64_t number = 0; number < 100'000; ++number) ends->first.answer(number);
  EXPECT_TRUE(ends->first.is_open());
}

TEST(mirror_channel, a_listener_hears_answers_until_it_ends) {
  auto ends = mirror_channel::make();
  ASSERT_TRUE(ends);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::uint64_t> heard;
  {
    const mirror_listener listener(std::make_shared<mirror_line>(std::move(ends->second), 1),
                                   [&](std::uint64_t number) {
                                     const std::lock_guard lock(mutex);
                                     heard.push_back(number);
                                     changed.notify_one();
                                   });
    ends->first.answer(3);
    ends->first.answer(4);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return heard.size() == 2; });
  }
  EXPECT_EQ(heard, (std::vector<std::uint64_t>{3, 4}));
}

TEST(mirror_channel, says_its_descriptor_and_how_often) {
  EXPECT_EQ(mirror_text(17, 100), "17:100");
}

}  // namespace
}  // namespace tidegate::runtime
