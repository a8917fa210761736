#include "actors/reactor/peer_address.hpp"

#include <csignal>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/process/process_stat.hpp"

namespace tidegate::actors {
namespace {

constexpr std::uint64_t here = 0x0123'4567'89ab'cdef;

// As another process of that host would give it.
std::string address_of(std::uint64_t host, pid_t pid) {
  char digits[place_digits + 1];
  std::snprintf(digits, sizeof digits, "%016llx%08x%016llx",
                static_cast<unsigned long long>(host), static_cast<unsigned>(pid),
                static_cast<unsigned long long>(runtime::stat_of(pid)->started));
  return std::string(digits) + "link";
}

TEST(peer_address, says_host_process_and_link) {
  const auto mine = peer_address(here, "some link");
  EXPECT_EQ(link_of(mine), "some link");
  EXPECT_EQ(process_of(mine), runtime::own_mark());
  EXPECT_TRUE(share_memory(mine, peer_address(here, "other")));
  EXPECT_FALSE(share_memory(mine, peer_address(here + 1, "other")));
  EXPECT_FALSE(share_memory(peer_address(0, "a"), peer_address(0, "b"))) << "with nobody";
  EXPECT_EQ(process_of("too short"), runtime::process_mark());
}

TEST(peer_address, one_that_was_replaced_and_reads_our_memory_is_ended) {
  const auto pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0)
    for (;;) ::pause();
  const auto mine = peer_address(here, "mine");
  EXPECT_TRUE(fence(mine, address_of(here + 1, pid)).ok());
  EXPECT_FALSE(runtime::is_over(*runtime::stat_of(pid))) << "on another host, it cannot";
  EXPECT_TRUE(fence(mine, address_of(here, pid)).ok());
  EXPECT_TRUE(runtime::is_over(*runtime::stat_of(pid)));
  EXPECT_TRUE(fence(mine, mine).ok()) << "never oneself";
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

}  // namespace
}  // namespace tidegate::actors
