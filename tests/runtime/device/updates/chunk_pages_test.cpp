// Which pages are moved, and what is in them; update_queue_test has the rest.
#include "runtime/device/updates/chunk_pages.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/emulated/emulated_device.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr std::uint64_t bytes = 4096;
constexpr std::uint64_t frames = chunk_pages::wanted_max;

class chunk_pages_test : public testing::Test {
 protected:
  chunk_pages_test() {
    auto made = chunk_pages::make(device_, {.frame_bytes = bytes, .frames_max = frames});
    pages_.emplace(std::move(*made));
    on_ = *device_.make_stream();
    host_ = std::move(*device_.allocate_host(bytes));
    for (std::uint64_t i = 0; i < 3 * frames; ++i) numbers_.push_back(pages_->add(bytes));
  }
  using access = chunk_pages::access;

  void write(std::size_t index, std::uint8_t value) {
    const chunk_pages::wanted page{numbers_[index], access::overwrite};
    ASSERT_TRUE(pages_->bring({&page, 1}, on_).ok());
    std::memset(host_.bytes().data(), value, bytes);
    ASSERT_TRUE(device_.copy_in(on_, pages_->at(page.number), host_.bytes()).ok());
    ASSERT_TRUE(pages_->used({&page, 1}, on_).ok());
    ASSERT_TRUE(device_.synchronize().ok());
  }
  // Returns the value that all bytes of the page have; -1: not all of them one.
  int read(std::size_t index) {
    const chunk_pages::wanted page{numbers_[index], access::read};
    EXPECT_TRUE(pages_->bring({&page, 1}, on_).ok());
    EXPECT_TRUE(device_.copy_out(on_, host_.bytes(), pages_->at(page.number)).ok());
    EXPECT_TRUE(pages_->used({&page, 1}, on_).ok());
    EXPECT_TRUE(device_.synchronize().ok());
    const auto values = host_.bytes();
    const bool is_even = std::all_of(values.begin(), values.end(),
                                     [&](std::byte value) { return value == values[0]; });
    return is_even ? std::to_integer<int>(values[0]) : -1;
  }

  emulated_device device_{{.seed = 5, .paced_by = emulated_options::pace::caller}};
  std::optional<chunk_pages> pages_;
  stream on_{};
  host_memory host_;
  std::vector<chunk_pages::page> numbers_;
};

TEST_F(chunk_pages_test, a_page_that_was_never_written_is_zero) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) EXPECT_EQ(read(i), 0);
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(pages_->moved(), 0U) << "nothing of it is worth a copy";
}

TEST_F(chunk_pages_test, what_is_written_comes_back) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) write(i, static_cast<std::uint8_t>(i + 1));
  for (std::size_t i = 0; i < numbers_.size(); ++i) EXPECT_EQ(read(i), static_cast<int>(i + 1));
}

TEST_F(chunk_pages_test, pages_that_fit_are_not_moved) {
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < frames; ++i) write(i, static_cast<std::uint8_t>(round));
  EXPECT_EQ(pages_->moved(), 0U);
}

TEST_F(chunk_pages_test, the_page_that_was_used_longest_ago_goes) {
  for (std::size_t i = 0; i < frames; ++i) write(i, 1);
  read(0);
  write(frames, 1);  // takes the place of page 1
  const auto before = pages_->moved();
  read(0);
  EXPECT_EQ(pages_->moved(), before);
  read(1);
  EXPECT_EQ(pages_->moved(), before + 2) << "another one out, and this one in";
}

TEST_F(chunk_pages_test, what_the_host_has_already_is_not_copied_again) {
  for (std::size_t i = 0; i < 2 * frames; ++i) write(i, 1);
  for (std::size_t i = 0; i < 2 * frames; ++i) read(i);
  const auto before = pages_->moved();
  for (std::size_t i = 0; i < frames; ++i) read(i);
  EXPECT_EQ(pages_->moved(), before + frames) << "in, and none out";
}

TEST_F(chunk_pages_test, nothing_allocates_once_all_is_taken) {
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < numbers_.size(); ++i) write(i, 1);
  const auto before = tests::allocations();
  const chunk_pages::wanted page{numbers_[0], access::update};
  ASSERT_TRUE(pages_->bring({&page, 1}, on_).ok());
  ASSERT_TRUE(pages_->used({&page, 1}, on_).ok());
  EXPECT_EQ(tests::allocations() - before, 0U);
  ASSERT_TRUE(device_.synchronize().ok());
}

TEST_F(chunk_pages_test, memory_that_ends_early_makes_it_smaller) {
  constexpr std::uint64_t frame_bytes = 8U << 20;  // few are allocated at a time
  auto larger =
      chunk_pages::make(device_, {.frame_bytes = frame_bytes, .frames_max = 3 * frames});
  ASSERT_TRUE(larger);
  pages_.emplace(std::move(*larger));
  for (std::size_t i = 0; i < 3 * frames; ++i) numbers_[i] = pages_->add(bytes);
  device_.fail_allocation(1);
  for (std::size_t i = 0; i < numbers_.size(); ++i) write(i, static_cast<std::uint8_t>(i + 1));
  for (std::size_t i = 0; i < numbers_.size(); ++i) EXPECT_EQ(read(i), static_cast<int>(i + 1));
  EXPECT_GT(pages_->moved(), 3 * frames);
}

TEST_F(chunk_pages_test, without_memory_for_one_operation_there_is_none) {
  device_.fail_allocation(1);
  const auto made = chunk_pages::make(device_, {.frame_bytes = bytes, .frames_max = frames});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), errc::io_error);
}

}  // namespace
}  // namespace tidegate::runtime::devices
