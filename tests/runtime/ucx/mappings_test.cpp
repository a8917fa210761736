// What the launcher has UCX leave alone (UCX_MEM_EVENTS): a process that is killed may leave no
// shared memory behind, so UCX makes none. Its calls of shmget come here, because a program's
// own symbols come before the C library's.
#include <atomic>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"

namespace {
std::atomic<int> segments = 0;
}  // namespace

extern "C" __attribute__((visibility("default"))) int shmget(key_t key, std::size_t size,
                                                             int flags) noexcept {
  ++segments;
  return static_cast<int>(::syscall(SYS_shmget, key, size, flags));
}

namespace tidegate::runtime {
namespace {

TEST(ucx_mappings, a_link_over_tcp_makes_no_system_v_segment) {
  const auto link = make_ucx_link();
  ASSERT_TRUE(link) << link.error().to_string();
  EXPECT_EQ(segments, 0);
}

}  // namespace
}  // namespace tidegate::runtime
