#include "runtime/rows/page_clock.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime::rows {
namespace {

using page = std::pair<std::uint32_t, std::uint64_t>;  // file, page

// Memory in which pages are where a clock has them.
class memory final : public page_device {
 public:
  void look(const page_block& first, std::span<page_mask> in_memory) override {
    for (std::size_t i = 0; i < in_memory.size(); ++i)
      in_memory[i] = mask_of({first.file, first.number + i}, there);
  }
  void start_writing(const page_block& block, page_mask pages) override {
    for_pages(block, pages, [&](const page& at) { written.insert(at); });
  }
  page_mask drop(const page_block& block, page_mask pages) override {
    ++drops;
    for_pages(block, pages, [&](const page& at) {
      if (held.contains(at)) return;
      there.erase(at);
      dropped.push_back(at);
    });
    return mask_of(block, there) & pages;
  }

  std::set<page> there;
  std::set<page> held;  // by somebody else
  std::set<page> written;
  std::vector<page> dropped;
  std::uint64_t drops = 0;  // that were tried

 private:
  static page_mask mask_of(const page_block& block, const std::set<page>& of) {
    page_mask mask = 0;
    for (std::uint32_t i = 0; i < block_pages; ++i)
      if (of.contains({block.file, block.number * block_pages + i}))
        mask = static_cast<page_mask>(mask | 1U << i);
    return mask;
  }
  template <class Visit>
  static void for_pages(const page_block& block, page_mask pages, const Visit& visit) {
    for (std::uint32_t i = 0; i < block_pages; ++i)
      if ((pages >> i & 1U) != 0) visit(page{block.file, block.number * block_pages + i});
  }
};

class page_clock_test : public testing::Test {
 protected:
  // Returns true if the page was in memory.
  bool use(page_clock& clock, std::uint64_t number, bool writes = false,
           std::uint32_t file = 0) {
    std::vector<std::uint64_t> absent;
    clock.use(file, number, 1, writes, absent);
    kernel.there.insert({file, number});
    return absent.empty();
  }

  memory kernel;
};

TEST_F(page_clock_test, says_which_pages_are_not_in_memory) {
  page_clock clock(100);
  ASSERT_EQ(clock.add_file(), 0U);
  std::vector<std::uint64_t> absent;
  clock.use(0, 14, 4, false, absent);
  EXPECT_EQ(absent, (std::vector<std::uint64_t>{14, 15, 16, 17}));
  absent.clear();
  clock.use(0, 0, 33, true, absent);
  EXPECT_EQ(absent.size(), 33U - 4U);
  EXPECT_EQ(std::count(absent.begin(), absent.end(), 15U), 0);
  EXPECT_EQ(clock.pages(), 33U);
}

TEST_F(page_clock_test, lets_go_of_what_exceeds_the_bound) {
  page_clock clock(64);
  clock.add_file();
  for (std::uint64_t number = 0; number < 1000; ++number) {
    use(clock, number);
    clock.balance(kernel);
    ASSERT_LE(clock.pages(), 64U);
    ASSERT_EQ(clock.pages(), kernel.there.size());
  }
  EXPECT_GE(clock.pages(), 32U) << "and no more than that";
  EXPECT_EQ(clock.dropped(), 1000 - clock.pages());
}

// Hot pages are used once in a while, and cold ones come all the time. As long as none was
// used twice, they are all alike.
TEST_F(page_clock_test, keeps_what_is_used_again) {
  page_clock clock(128);
  clock.add_file();
  std::uint64_t missed = 0;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    if (!use(clock, 7 * (round % 10))) ++missed;
    use(clock, 1000 + round);
    clock.balance(kernel);
  }
  EXPECT_LE(missed, 20U) << "when they come, and at most once before they are told apart";
}

// Drawn alike from 4 times as many pages as fit, a quarter is found at the most.
TEST_F(page_clock_test, finds_more_of_what_is_used_more_often) {
  const auto hits_of = [&](bool skewed) {
    kernel = memory();
    page_clock clock(256);
    clock.add_file();
    rng random(3);
    std::uint64_t hits = 0;
    for (std::uint64_t round = 0; round < 20'000; ++round) {
      auto number = random.below(1024);
      if (skewed) number = number * random.below(1024) / 1024 * random.below(1024) / 1024;
      if (use(clock, number, true)) ++hits;
      if (round % 8 == 0) clock.balance(kernel);
    }
    return hits;
  };
  EXPECT_NEAR(static_cast<double>(hits_of(false)) / 20'000, 0.25, 0.05);
  EXPECT_GT(hits_of(true), 12'000U);
}

TEST_F(page_clock_test, writes_what_has_changed_before_it_goes) {
  page_clock clock(64);
  clock.add_file();
  std::set<page> changed;
  rng random(5);
  for (std::uint64_t number = 0; number < 600; ++number) {
    const bool writes = random.below(3) == 0;
    use(clock, number, writes);
    if (writes) changed.insert({0, number});
    clock.balance(kernel);
  }
  for (const auto& gone : kernel.dropped)
    EXPECT_EQ(kernel.written.contains(gone), changed.contains(gone)) << gone.second;
}

TEST_F(page_clock_test, keeps_a_page_that_is_used_while_it_leaves) {
  page_clock clock(64);
  clock.add_file();
  for (std::uint64_t number = 0; number < 64; ++number) use(clock, number, true);
  clock.balance(kernel);
  ASSERT_EQ(kernel.dropped.size(), 0U);
  ASSERT_FALSE(kernel.written.empty()) << "it makes ready for those that come";
  const auto leaves = kernel.written.begin()->second;
  EXPECT_TRUE(use(clock, leaves, true));
  for (std::uint64_t number = 100; number < 110; ++number) use(clock, number);
  clock.balance(kernel);
  EXPECT_FALSE(kernel.dropped.empty());
  EXPECT_TRUE(kernel.there.contains({0, leaves}));
}

TEST_F(page_clock_test, finds_what_others_read_and_what_the_kernel_took) {
  page_clock clock(64);
  clock.add_file();
  for (std::uint64_t number = 0; number < 640; number += 2) {
    use(clock, number);
    clock.balance(kernel);
  }
  // Somebody reads half of all pages.
  for (std::uint64_t number = 1; number < 640; number += 2) kernel.there.insert({0, number});
  for (int calls = 0; calls < 40; ++calls) clock.balance(kernel);
  EXPECT_LE(kernel.there.size(), 64U);
  EXPECT_EQ(clock.pages(), kernel.there.size());
  // The kernel takes all; those that come find it out.
  kernel.there.clear();
  for (std::uint64_t number = 0; number < 200; ++number) {
    use(clock, number);
    clock.balance(kernel);
  }
  for (int calls = 0; calls < 40; ++calls) clock.balance(kernel);
  EXPECT_LE(kernel.there.size(), 64U);
  EXPECT_GE(clock.pages(), kernel.there.size());
}

// A page that was asked for is not there yet, and is counted all the same.
TEST_F(page_clock_test, counts_pages_that_are_being_read) {
  page_clock clock(64);
  clock.add_file();
  std::vector<std::uint64_t> absent;
  clock.use(0, 0, 40, false, absent);
  clock.balance(kernel);
  EXPECT_EQ(clock.pages(), 40U);
}

// A round over all blocks would not help, and is not made in each call.
TEST_F(page_clock_test, does_not_wait_for_pages_that_others_hold) {
  page_clock clock(32);
  clock.add_file();
  for (std::uint64_t number = 0; number < 4096; ++number) {
    use(clock, number);
    kernel.held.insert({0, number});
  }
  clock.balance(kernel);
  kernel.drops = 0;
  for (int calls = 0; calls < 10; ++calls) clock.balance(kernel);
  EXPECT_LT(kernel.drops, 10U * 32U) << "of 256 blocks";
  kernel.held.clear();
  for (int calls = 0; calls < 10; ++calls) clock.balance(kernel);
  EXPECT_LE(clock.pages(), 32U);
}

TEST_F(page_clock_test, shares_its_memory_among_files) {
  page_clock clock(64);
  EXPECT_EQ(clock.add_file(), 0U);
  EXPECT_EQ(clock.add_file(), 1U);
  for (std::uint64_t number = 0; number < 100; ++number) {
    use(clock, number, false, 0);
    use(clock, number / 8, false, 1);
    clock.balance(kernel);
    ASSERT_LE(clock.pages(), 64U);
  }
  const auto of_second = static_cast<std::uint64_t>(std::count_if(
      kernel.there.begin(), kernel.there.end(), [](const page& at) { return at.first == 1; }));
  EXPECT_GT(of_second, 0U);
  clock.remove_file(1);
  EXPECT_EQ(clock.pages(), kernel.there.size() - of_second);
  std::erase_if(kernel.there, [](const page& at) { return at.first == 1; });
  EXPECT_EQ(clock.add_file(), 1U) << "numbers are used again";
  for (std::uint64_t number = 0; number < 100; ++number) {
    EXPECT_FALSE(use(clock, number, false, 1)) << "and nothing is left of the one before";
    clock.balance(kernel);
    ASSERT_EQ(clock.pages(), kernel.there.size());
  }
  clock.remove_file(0);
  clock.remove_file(1);
  EXPECT_EQ(clock.pages(), 0U);
  clock.balance(kernel);
}

// A scan of many pages pushes out nothing that is used again, and writes nothing.
TEST_F(page_clock_test, lets_pages_go_that_came_for_a_single_use) {
  page_clock clock(64);
  clock.add_file();
  for (std::uint64_t number = 0; number < 50; ++number) use(clock, number, number % 2 == 0);
  for (std::uint64_t number = 0; number < 1000; number += 4) {
    std::vector<std::uint64_t> absent;
    clock.use(0, number, 4, false, absent);
    for (const auto page_number : absent) kernel.there.insert({0, page_number});
    clock.let_go(0, absent, kernel);
    clock.balance(kernel);
  }
  EXPECT_EQ(clock.pages(), 50U);
  EXPECT_TRUE(kernel.written.empty());
  // What has been written meanwhile stays.
  std::vector<std::uint64_t> absent;
  clock.use(0, 2000, 2, false, absent);
  use(clock, 2001, true);
  kernel.there.insert({0, 2000});
  clock.let_go(0, absent, kernel);
  EXPECT_FALSE(kernel.there.contains({0, 2000}));
  EXPECT_TRUE(kernel.there.contains({0, 2001}));
}

// The most that can be asked of it, against memory that does as it likes.
TEST_F(page_clock_test, knows_what_is_in_memory_whatever_happens) {
  page_clock clock(50);
  for (std::uint32_t file = 0; file < 3; ++file) clock.add_file();
  rng random(11);
  for (int round = 0; round < 20'000; ++round) {
    const auto file = random.below(3);
    const auto number = random.below(60 * (file + 1));
    const auto at = page{file, number};
    switch (random.below(20)) {
      case 0:
        kernel.there.erase(at);
        break;
      case 1:
        if (kernel.held.erase(at) == 0) kernel.held.insert(at);
        break;
      case 2:
        clock.remove_file(file);
        std::erase_if(kernel.there, [&](const page& of) { return of.first == file; });
        std::erase_if(kernel.held, [&](const page& of) { return of.first == file; });
        ASSERT_EQ(clock.add_file(), file);
        break;
      case 3:
        clock.balance(kernel);
        break;
      default:
        use(clock, number, random.below(2) == 0, file);
    }
  }
  kernel.held.clear();
  for (int calls = 0; calls < 100; ++calls) clock.balance(kernel);
  EXPECT_LE(clock.pages(), 50U);
  EXPECT_LE(kernel.there.size(), clock.pages()) << "what was used may have been taken";
}

}  // namespace
}  // namespace tidegate::runtime::rows
