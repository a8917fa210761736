// Tables of rows of a shard on a device: what is read and written later stays, whoever gives it
// back; answers, images and checkpoints are those of a shard on the host.
#include "actors/chunks/rows_on_device.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/chunks/shard_store.hpp"
#include "policies/checkpoint/image.hpp"
#include "policies/model/kept_versions.hpp"
#include "policies/model/row_payloads.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_request.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::actors {
namespace {

namespace devices = runtime::devices;
using devices::emulated_device;
using devices::emulated_options;
using effects = policies::shard_effects;

constexpr std::uint32_t row_dim = 6;
constexpr std::uint32_t ids = 120;

policies::open_table_call users(std::uint64_t memory_of_evictions = 0) {
  policies::open_table_call call;
  call.token = 1;
  call.table = 5;
  call.name = "users";
  call.shape = {1};
  call.optimizer = policies::default_optimizer(policies::optimizer_kind::adam);
  call.init_key = 17;
  call.rows.dim = row_dim;
  call.rows.capacity = 4000;
  if (memory_of_evictions > 0)
    call.rows.lifetime = {.rows = memory_of_evictions, .by = runtime::eviction_order::l2};
  return call;
}

const std::vector<policies::owned_chunk> one_part{
    {.chunk = 0, .slot = 0, .first = 0, .elements = 1}};
constexpr store_options three_workers{.workers = 3, .members = 12, .keeps = 1};

// A store with one part, and what it has been asked for.
class rows_store {
 public:
  explicit rows_store(std::unique_ptr<shard_store> store,
                      const policies::open_table_call& table = users())
      : store_(std::move(store)) {
    EXPECT_TRUE(store_->add_table(table, one_part, three_workers).ok());
  }

  shard_store& get() { return *store_; }
  // A step with batches that follow from the key; they are given back at once, and their memory
  // is written again.
  void step(const effects::apply& step, std::uint64_t key) {
    std::vector<effects::input> inputs;
    for (std::uint32_t rank = 0; rank < step.count; ++rank)
      inputs.push_back({.rank = rank, .payload = push(key + rank)});
    EXPECT_TRUE(store_->apply(step, inputs).ok());
    for (const auto& input : inputs) store_->ingress().release(input.payload);
    take_memory_that_is_free();
  }
  // The answer to a request of all ids, whose place is given back at once, too.
  void ask(std::uint32_t version_buffer) {
    auto request = store_->ingress().lease_rows(call_header(), 0);
    const auto into = runtime::begin_gather(request.bytes(), ids);
    std::iota(into.begin(), into.end(), std::uint64_t{0});
    runtime::ask_values(request.bytes(), false);
    EXPECT_TRUE(store_->ingress().take_rows(call_header(), 0, request).ok());
    const auto place = store_->ingress().lease_answer(0, request.bytes());
    const auto answer =
        store_->ingress().answer_rows({}, 0, version_buffer, request.bytes(), place);
    answers_.push_back({place, answer});
  }
  // Likewise what a function makes of all rows.
  void call(std::uint32_t version_buffer, std::string_view function) {
    auto header = call_header();
    header.payload_bytes = runtime::call_request_bytes;
    auto request = store_->ingress().lease_rows(header, 0);
    runtime::call_wire wire;
    runtime::encode(runtime::function_call{.name = function, .arguments = {}}, wire);
    runtime::write_call(request.bytes(), wire);
    EXPECT_TRUE(store_->ingress().take_rows(header, 0, request).ok());
    const auto place = store_->ingress().lease_answer(0, request.bytes());
    answers_.push_back(
        {place, store_->ingress().answer_rows({}, 0, version_buffer, request.bytes(), place)});
  }
  std::vector<std::vector<std::byte>> answers() {
    finish();
    std::vector<std::vector<std::byte>> all;
    for (const auto& [place, answer] : answers_) {
      if (answer.late) answer.late->finish(runtime::function_library::built_in());
      all.emplace_back(answer.bytes.begin(), answer.bytes.end());
    }
    answers_.clear();
    return all;
  }
  std::shared_ptr<const std::vector<float>> seed(std::uint32_t version_buffer) {
    return store_->seed_of({.slot = 0, .version_buffer = version_buffer, .kept = {}}, {});
  }
  std::vector<std::vector<float>> checkpoint() {
    const auto about = store_->describe(0).about;
    std::vector<std::shared_ptr<std::vector<float>>> arrays;
    for (std::size_t i = 0; i < policies::chunk_arrays(about); ++i) {
      auto& array = arrays.emplace_back(
          std::make_shared<std::vector<float>>(policies::array_floats(about, i)));
      store_->copy_rows(0, about, i, *array, array);
    }
    finish();
    std::vector<std::vector<float>> all;
    for (const auto& array : arrays) all.push_back(*array);
    return all;
  }
  void give_answers_up() { answers_.clear(); }
  // Leases some, and fills it.
  std::vector<runtime::buffer> take_memory_that_is_free() {
    runtime::frame_header header;
    header.kind = runtime::frame_kind::push;
    std::vector<runtime::buffer> taken;
    for (const std::uint64_t rows : {30, 60, 60, 60, 90, 120, 120, 120, 120}) {
      header.payload_bytes = runtime::row_batch_bytes(rows, row_dim);
      auto& room = taken.emplace_back(store_->ingress().lease_rows(header, 0));
      std::memset(room.data(), 0xff, room.size());
    }
    return taken;
  }
  void finish() {
    while (!store_->ingress().work().is_idle()) ASSERT_TRUE(store_->poll().ok());
  }

 private:
  static runtime::frame_header call_header() {
    runtime::frame_header header;
    header.kind = runtime::frame_kind::call;
    header.payload_bytes = runtime::gather_request_bytes(ids);
    return header;
  }

  policies::payload_handle push(std::uint64_t key) {
    runtime::rng random(key);
    std::vector<std::uint64_t> pushed;
    for (std::uint64_t id = 0; id < ids; ++id)
      if (random.below(2) == 0) pushed.push_back(id);
    runtime::frame_header header;
    header.kind = runtime::frame_kind::push;
    header.payload_bytes = runtime::row_batch_bytes(pushed.size(), row_dim);
    auto room = store_->ingress().lease_rows(header, 0);
    const auto batch = runtime::begin_row_batch(
        room.bytes(), static_cast<std::uint32_t>(pushed.size()), row_dim);
    std::copy(pushed.begin(), pushed.end(), batch.ids.begin());
    for (std::size_t i = 0; i < batch.values.size(); ++i)
      batch.values[i] = runtime::uniform_signed(key, i);
    EXPECT_TRUE(store_->ingress().take_rows(header, 0, room).ok());
    return store_->ingress().keep(std::move(room));
  }

  std::unique_ptr<shard_store> store_;
  std::vector<std::pair<runtime::buffer, row_answer>> answers_;
};

std::unique_ptr<shard_store> store_on_device(std::uint64_t seed,
                                             const devices::queue_options& options = {}) {
  auto store =
      shard_store::on_device(std::make_shared<runtime::heap_source>(),
                             std::make_unique<emulated_device>(emulated_options{
                                 .seed = seed, .paced_by = emulated_options::pace::caller}),
                             options);
  EXPECT_TRUE(store) << store.error().message();
  return std::move(*store);
}

std::unique_ptr<shard_store> store_on_host() {
  return std::make_unique<shard_store>(std::make_shared<runtime::heap_source>());
}

effects::apply step_of(std::uint64_t clock) {
  effects::apply step;
  step.count = static_cast<std::uint32_t>(1 + clock % 3);
  step.contributors = step.count;
  step.from = clock % 2 == 0 ? 0 : 1;
  step.to = 1 - step.from;
  step.clock = clock;
  step.keeps_sum = clock % 4 == 0;
  return step;
}

TEST(rows_on_device, answers_seeds_and_checkpoints_are_those_of_the_host) {
  rows_store host(store_on_host()), device(store_on_device(3));
  for (std::uint64_t clock = 0; clock < 30; ++clock) {
    const auto step = step_of(clock);
    for (auto* store : {&host, &device}) {
      store->step(step, clock * 100);
      store->ask(step.to);
      store->ask(step.from);
      store->call(step.to, "sum");
      store->call(step.from, "count_rows");
    }
    if (step.keeps_sum && step.count > 1) {
      const auto sum = device.get().sum_of(0, clock), expected = host.get().sum_of(0, clock);
      ASSERT_TRUE(std::equal(sum.begin(), sum.end(), expected.begin(), expected.end()));
    }
    if (clock % 5 == 4) {
      ASSERT_EQ(device.answers(), host.answers()) << clock;
      ASSERT_EQ(device.checkpoint(), host.checkpoint()) << clock;
    }
  }
  const auto seed = device.seed(0), expected = host.seed(0);
  device.finish();
  ASSERT_EQ(*seed, *expected);
  // From a device to another, and on.
  rows_store other(store_on_device(4)), other_host(store_on_host());
  for (auto* store : {&other, &other_host}) {
    ASSERT_TRUE(store->get().take_seed(0, std::as_bytes(std::span(*seed))));
    auto step = step_of(30);
    step.from = policies::sharding::seed_buffer;
    store->step(step, 30);
    store->ask(step.to);
  }
  EXPECT_EQ(other.answers(), other_host.answers());
}

TEST(rows_on_device, little_memory_of_the_device_makes_no_difference) {
  rows_store host(store_on_host()),
      device(store_on_device(5, {.cache_bytes = 16 << 10, .chunk_bytes_max = 1024}));
  for (std::uint64_t clock = 0; clock < 20; ++clock)
    for (auto* store : {&host, &device}) {
      store->step(step_of(clock), clock * 100);
      store->ask(step_of(clock).to);
    }
  EXPECT_EQ(device.answers(), host.answers());
  ASSERT_EQ(device.get().accounts_of_rows().size(), 1U);
  EXPECT_EQ(device.get().accounts_of_rows()[0].find("rows of tables: "), 0U);
}

// Nobody waits for the answer any more: what it was to be written to may be somebody else's
// soon, and is not before the device has written.
TEST(rows_on_device, an_answer_that_is_given_up_is_written_to_nobody_elses_memory) {
  rows_store store(store_on_device(8));
  store.step(step_of(0), 1);
  for (int i = 0; i < 4; ++i) store.ask(1);
  store.call(1, "sum");
  store.give_answers_up();
  const auto taken = store.take_memory_that_is_free();
  store.finish();
  for (const auto& room : taken)
    EXPECT_TRUE(std::all_of(room.bytes().begin(), room.bytes().end(),
                            [](std::byte byte) { return byte == std::byte{0xff}; }));
}

// The rest of a table that the device cannot step is on the host.
TEST(rows_on_device, what_is_evicted_by_l2_stays_on_the_host) {
  rows_store store(store_on_device(6), users(1000));
  store.step(step_of(0), 1);
  EXPECT_TRUE(store.get().ingress().work().is_idle());
}

// A store goes while its device has work, with answers that wait.
TEST(rows_on_device, goes_while_work_is_under_way) {
  rows_store store(store_on_device(7));
  store.step(step_of(0), 1);
  store.ask(1);
  EXPECT_FALSE(store.get().ingress().work().is_idle());
}

TEST(joined_work, a_piece_ends_when_all_before_it_have) {
  work_progress progress;
  joined_work work(progress);
  using queue = joined_work::queue;
  work.begin(queue::chunks, 1);
  work.begin(queue::rows, 1);
  work.begin(queue::rows, 1);  // nothing new
  work.begin(queue::chunks, 3);
  EXPECT_EQ(progress.begun(), 3U);
  work.end(queue::rows, 1);
  EXPECT_EQ(progress.ended(), 0U) << "the chunk's before it has not";
  work.end(queue::chunks, 2);
  EXPECT_EQ(progress.ended(), 2U);
  work.end(queue::chunks, 3);
  EXPECT_TRUE(progress.is_idle());
  work.begin_endless();
  work.begin(queue::rows, 2);
  work.end(queue::rows, 2);
  work.end(queue::chunks, 3);
  EXPECT_FALSE(progress.is_idle());
}

}  // namespace
}  // namespace tidegate::actors
