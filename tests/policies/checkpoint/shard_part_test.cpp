// The room for copies of a shard's chunks: where it is, and how long it is kept.
#include "policies/checkpoint/shard_part.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

class counting_resource final : public std::pmr::memory_resource {
 public:
  std::size_t bytes = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    bytes += size;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* at, std::size_t size, std::size_t alignment) override {
    bytes -= size;
    std::pmr::new_delete_resource()->deallocate(at, size, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

chunk_description chunk_of(std::uint32_t number, std::uint64_t elements) {
  chunk_description about;
  about.table = "w";
  about.shape = {1500};
  about.chunk = number;
  about.first = number * 1000ULL;
  about.elements = elements;
  about.ranks = {{.next = 3, .finished = false}};
  return about;
}

const shard_file_title file_of_part{.job = "mlp", .id = {1, 2}, .shard = 0};

TEST(shard_part, keeps_its_room_for_the_next_checkpoint) {
  shard_part part;
  const float* before = nullptr;
  for (int checkpoint = 0; checkpoint < 2; ++checkpoint) {
    ASSERT_TRUE(part.begin(file_of_part, 7, 1));
    const auto& room = part.add(4, chunk_of(0, 1000));
    EXPECT_EQ(room[0]->size(), 1000U);
    if (checkpoint > 0) {
      EXPECT_EQ(room[0]->data(), before);
    }
    before = room[0]->data();
    ASSERT_TRUE(part.write());
    part.ended();
  }
}

TEST(shard_part, has_room_where_it_is_asked_for_until_the_file_is_written) {
  counting_resource memory;
  shard_part part;
  ASSERT_TRUE(part.begin(file_of_part, 7, 2));
  part.add(4, chunk_of(0, 1000), &memory);
  part.add(4, chunk_of(1, 500));
  EXPECT_EQ(memory.bytes, 1000 * sizeof(float));
  ASSERT_TRUE(part.write());
  EXPECT_EQ(memory.bytes, 1000 * sizeof(float)) << "the writer reads it";
  part.ended();
  EXPECT_EQ(memory.bytes, 0U);
  // The other way round: a place is made anew where its memory is another.
  ASSERT_TRUE(part.begin(file_of_part, 7, 2));
  part.add(4, chunk_of(0, 1000));
  EXPECT_EQ(memory.bytes, 0U);
  part.add(4, chunk_of(1, 500), &memory);
  EXPECT_EQ(memory.bytes, 500 * sizeof(float));
  ASSERT_TRUE(part.write());
  part.ended();
}

TEST(shard_part, keeps_nothing_of_a_job_that_has_ended) {
  counting_resource memory;
  shard_part part;
  ASSERT_TRUE(part.begin(file_of_part, 7, 2));
  part.add(4, chunk_of(0, 1000), &memory);
  part.retire();
  EXPECT_EQ(memory.bytes, 0U);
  EXPECT_FALSE(part.is_open());
  ASSERT_TRUE(part.begin(file_of_part, 7, 1));
  part.add(4, chunk_of(0, 1000), &memory);
  ASSERT_TRUE(part.write());
  part.retire();
  EXPECT_EQ(memory.bytes, 1000 * sizeof(float)) << "the writer reads it";
  part.ended();
  part.retire();
  EXPECT_EQ(memory.bytes, 0U);
}

}  // namespace
}  // namespace tidegate::policies
