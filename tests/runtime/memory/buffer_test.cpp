#include "runtime/memory/buffer.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

TEST(buffer, shares_its_block_and_gives_it_back_with_the_last_handle) {
  heap_source heap;
  pool blocks(heap, 256, 1);
  auto first = blocks.lease(100);
  ASSERT_TRUE(first);
  EXPECT_EQ(first.size(), 100u);
  auto second = first;
  EXPECT_EQ(first.data(), second.data());
  EXPECT_FALSE(blocks.lease(1)) << "the only block is out";
  first = {};
  EXPECT_FALSE(blocks.lease(1));
  auto moved = std::move(second);
  EXPECT_FALSE(blocks.lease(1)) << "a handle that moves is still one";
  moved = {};
  EXPECT_EQ(blocks.leased(), 0u);
  EXPECT_TRUE(blocks.lease(256));
}

TEST(buffer, begins_elsewhere_in_its_block_and_ends_where_it_ended) {
  heap_source heap;
  pool blocks(heap, 256, 1);
  const auto whole = blocks.lease(200);
  auto later = whole.with_begin_at(64);
  EXPECT_EQ(later.data(), whole.data() + 64);
  EXPECT_EQ(later.size(), 136U);
  const auto back = later.with_begin_at(-32);
  EXPECT_EQ(back.data(), whole.data() + 32);
  EXPECT_EQ(back.size(), 168U);
  EXPECT_DEATH(later.with_begin_at(-65), "a slice of the block");
}

TEST(buffer, a_view_owns_nothing) {
  std::vector<std::byte> memory(8);
  auto view = buffer::view(memory);
  EXPECT_EQ(view.data(), memory.data());
}

TEST(pool, never_exceeds_its_bound_and_grows_when_told) {
  heap_source heap;
  pool blocks(heap, 1 << 20, 3);  // more than one slab
  std::vector<buffer> out;
  while (auto lease = blocks.lease(1)) out.push_back(std::move(lease));
  EXPECT_EQ(out.size(), 3u);
  blocks.grow_to(5);
  while (auto lease = blocks.lease(1)) out.push_back(std::move(lease));
  EXPECT_EQ(out.size(), 5u);
  for (std::size_t i = 1; i < out.size(); ++i) EXPECT_NE(out[i].data(), out[i - 1].data());
}

TEST(pool, a_warm_lease_allocates_nothing) {
  heap_source heap;
  pool blocks(heap, 4096, 8);
  blocks.lease(1);
  const auto before = tests::allocations();
  for (int i = 0; i < 1000; ++i) {
    auto one = blocks.lease(4096);
    auto two = one;
  }
  EXPECT_EQ(tests::allocations() - before, 0u);
}

TEST(pool_death, a_buffer_may_not_outlive_its_pool) {
  heap_source heap;
  EXPECT_DEATH(
      {
        buffer late;
        pool blocks(heap, 64, 1);
        late = blocks.lease(64);
      },
      "outlives its pool");
}

TEST(size_pools, each_size_has_its_own_bound) {
  size_pools pools(std::make_shared<heap_source>());
  EXPECT_FALSE(pools.lease(40)) << "nothing allowed yet";
  pools.allow(40, 1);
  pools.allow(5000, 1);
  auto small = pools.lease(40);
  EXPECT_TRUE(small);
  EXPECT_FALSE(pools.lease(40));
  auto large = pools.lease(5000);
  EXPECT_TRUE(large);
  EXPECT_EQ(large.size(), 5000u);
  EXPECT_EQ(pools.leased(), 2u);
}

TEST(heap_source, gives_zeroed_page_aligned_memory) {
  heap_source heap;
  const auto memory = heap.allocate(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0u);
  EXPECT_GE(memory.size(), 5000u);
  for (auto byte : memory.bytes()) ASSERT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace tidegate::runtime
