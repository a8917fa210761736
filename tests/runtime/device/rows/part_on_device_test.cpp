// A part whose rows lie on a device is as one whose rows lie in memory: steps, versions before,
// pages, images, rows that come and go, with little memory of the device and much.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/emulated_device.hpp"
#include "runtime/device/rows/device_rows.hpp"
#include "runtime/parts/row_lease.hpp"
#include "runtime/parts/row_part.hpp"
#include "tests/runtime/device/rows/rows_trial.hpp"
#include "tests/runtime/parts/part_batches.hpp"

namespace tidegate::runtime::devices {
namespace {

// A device with so much room for rows, and what parts on it need.
struct rows_device {
  emulated_device device;
  row_room room;
  std::unique_ptr<row_queue> queue;
  std::unique_ptr<device_row_engines> engines;

  rows_device(std::uint64_t seed, std::uint64_t bytes)
      : device(tests::paced_device(seed)),
        room(device, bytes),
        queue(std::move(*row_queue::make(device, {.slots = 2}))),
        engines(std::make_unique<device_row_engines>(*queue, room)) {}
  ~rows_device() { queue->stop(); }
  rows_device(const rows_device&) = delete;
  rows_device& operator=(const rows_device&) = delete;

  row_part part(const row_lifetime& lifetime) {
    auto options = options_of(lifetime);
    options.rows.engines = engines.get();
    auto part = row_part::create(options);
    EXPECT_TRUE(part) << part.error().message();
    return std::move(*part);
  }
  void settle() {
    while (!queue->is_idle() && queue->failure().ok()) queue->poll();
    ASSERT_TRUE(queue->failure().ok()) << queue->failure().message();
  }
};

std::vector<std::uint64_t> all_ids() {
  std::vector<std::uint64_t> ids(ids_below);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  return ids;
}

using bytes_of_answer = std::vector<std::byte>;

// An answer that is under way, and what it is to be.
struct pending_answer {
  std::unique_ptr<cache_lines> room = std::make_unique<cache_lines>();
  std::size_t bytes = 0;
  bytes_of_answer expected;
};

bool is_as_expected(const pending_answer& answer) {
  const auto got = answer.room->bytes().first(answer.bytes);
  return std::equal(got.begin(), got.end(), answer.expected.begin(), answer.expected.end());
}

pending_answer ask(const row_part& part, const row_part& twin, std::uint32_t version,
                   const row_request& request) {
  pending_answer asked;
  asked.bytes = part.answer(version, request, asked.room->resize(part.answer_bytes(request)));
  cache_lines room;
  const auto bytes = twin.answer(version, request, room.resize(twin.answer_bytes(request)));
  const auto expected = room.bytes().first(bytes);
  asked.expected.assign(expected.begin(), expected.end());
  return asked;
}

// The image of a part, with the floats that its device has.
row_image image_of(rows_device& on, const row_part& part, std::uint32_t now,
                   std::span<const std::uint32_t> kept) {
  const auto image = part.image(now, kept);
  std::vector<std::uint64_t> numbers(image_bytes(image) / sizeof(std::uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(numbers));
  part.read_image(kept, encode_image(image, bytes), {});
  on.settle();
  return *decode_image(bytes);
}

// Steps a part and its twin, asks both, and looks later. Returns what differs.
std::string try_part(std::uint64_t seed) {
  rng random(seed);
  using order = eviction_order;
  const row_lifetime lifetimes[] = {{},
                                    {.rows = 300, .by = order::lfu},
                                    {.admit_count = 2, .candidates = 90, .unseen = 6},
                                    {.rows = 250, .by = order::lru}};
  const auto& lifetime = lifetimes[seed % 4];
  rows_device on(seed, random.below(2) == 0 ? 0 : 16U << 10U);
  auto part = on.part(lifetime);
  auto twin = *row_part::create(options_of(lifetime));
  const auto ids = all_ids();
  std::deque<pending_answer> answers;
  for (std::uint32_t clock = 0; clock < 24; ++clock) {
    const step_batches batches(clock, 1 + clock % 3, 150);
    const auto step = step_of(clock, clock % 4, (clock + 1) % 4, clock % 2 == 0);
    if (!part.apply(step, batches.inputs).ok() || !twin.apply(step, batches.inputs).ok())
      return "a step failed";
    for (const auto version : {step.to, step.from}) {
      answers.push_back(
          ask(part, twin, version, {.kind = row_request_kind::gather, .ids = ids}));
      answers.push_back(ask(
          part, twin, version,
          {.kind = row_request_kind::scan, .rows_max = 64, .after = random.below(ids_below)}));
    }
    for (auto polls = random.below(60); polls > 0; --polls) on.queue->poll();
  }
  on.settle();
  for (const auto& answer : answers)
    if (!is_as_expected(answer)) return "an answer is not what it should be";
  const std::vector<std::uint32_t> kept{23 % 4};
  if (image_of(on, part, 0, kept) != twin.image(0, kept)) return "images differ";
  return on.room.rows_moved() > 0 || on.room.bytes_on_host() == 0 ? "" : "no row has moved";
}

TEST(part_on_device, has_the_rows_and_versions_of_one_in_memory) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) ASSERT_EQ(try_part(seed), "") << seed;
}

TEST(part_on_device, a_row_that_is_noted_after_its_step_is_found) {
  std::string found;
  for (std::uint64_t seed = 1; seed <= 8 && found.empty(); ++seed) {
    planted = planted_bug::row_noted_after_its_step;
    found = try_part(seed);
    planted = planted_bug::none;
  }
  EXPECT_EQ(found, "an answer is not what it should be");
}

// From the host to a device, and to another device, with versions before.
TEST(part_on_device, goes_on_from_the_image_of_another) {
  auto twin = *row_part::create(options_of({}));
  for (std::uint32_t clock = 0; clock < 5; ++clock)
    ASSERT_TRUE(twin.apply(step_of(clock, clock % 4, (clock + 1) % 4),
                           step_batches(clock, 2, 300).inputs)
                    .ok());
  const std::vector<std::uint32_t> kept{0};  // before clock 4, which led to 1
  rows_device first(1, 0), second(2, 8U << 10U);
  auto part = first.part({});
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), step_batches(9, 1, 200).inputs).ok());
  ASSERT_TRUE(part.restore(twin.image(1, kept), 1, kept).ok());
  const auto image = image_of(first, part, 1, kept);
  EXPECT_EQ(image, twin.image(1, kept));
  auto other = second.part({});
  ASSERT_TRUE(other.restore(image, 1, kept).ok());
  EXPECT_EQ(image_of(second, other, 1, kept), twin.image(1, kept));
  const step_batches more(7, 3, 200);
  ASSERT_TRUE(other.apply(step_of(5, 1, 2), more.inputs).ok());
  ASSERT_TRUE(twin.apply(step_of(5, 1, 2), more.inputs).ok());
  auto answer = ask(other, twin, 2, {.kind = row_request_kind::gather, .ids = all_ids()});
  auto before = ask(other, twin, 1, {.kind = row_request_kind::gather, .ids = all_ids()});
  second.settle();
  EXPECT_TRUE(is_as_expected(answer));
  EXPECT_TRUE(is_as_expected(before));
}

TEST(part_on_device, gives_no_leases_and_does_not_evict_by_l2) {
  rows_device on(3, 0);
  auto part = on.part({});
  const step_batches batches(1, 2, 300);
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), batches.inputs).ok());
  const auto ids = all_ids();
  const row_request request{.kind = row_request_kind::gather, .ids = ids, .may_lease = true};
  cache_lines room;
  EXPECT_GT(part.answer(0, request, room.resize(part.answer_bytes(request))), row_lease_bytes);
  on.settle();
  auto options = options_of({.rows = 300, .by = eviction_order::l2});
  options.rows.engines = on.engines.get();
  EXPECT_EQ(row_part::create(options).error().code(), errc::invalid_argument);
}

}  // namespace
}  // namespace tidegate::runtime::devices
