// The memory of a shard on the host and on a device, which do the same: one only later.
#include "actors/chunks/shard_store.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/emulated_device.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::actors {
namespace {

namespace devices = runtime::devices;
using devices::emulated_device;
using devices::emulated_options;
using effects = policies::shard_effects;
using kind = shard_memory::array_name::kind;

constexpr std::uint32_t table = 3;
constexpr std::uint64_t chunk_elements[] = {1000, 64, 70'000};

std::unique_ptr<emulated_device> make_device(std::uint64_t seed) {
  return std::make_unique<emulated_device>(
      emulated_options{.seed = seed, .paced_by = emulated_options::pace::caller});
}

policies::open_table_call weights(policies::optimizer_kind optimizer) {
  policies::open_table_call call;
  call.token = 1;
  call.table = table;
  call.name = "weights";
  call.shape = {1000 + 64 + 70'000};
  call.optimizer = policies::default_optimizer(optimizer);
  call.init = {policies::init_kind::uniform, 1.0F};
  call.init_key = 17;
  return call;
}

std::vector<policies::owned_chunk> chunks_of_table() {
  std::vector<policies::owned_chunk> chunks;
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < std::size(chunk_elements); ++i) {
    chunks.push_back({.chunk = i, .slot = i, .first = first, .elements = chunk_elements[i]});
    first += chunk_elements[i];
  }
  return chunks;
}

constexpr store_options replicated{.workers = 3, .members = 12, .keeps = 1, .replicated = true};

// A gradient that was pushed and follows from the key; nothing where there is no room for it.
std::optional<effects::input> push(shard_store& store, std::uint32_t rank,
                                   std::uint64_t elements, std::uint64_t key) {
  auto room = store.ingress().lease(elements * sizeof(float));
  if (!room) return {};
  for (std::uint64_t i = 0; i < elements; ++i)
    room.floats()[i] = runtime::uniform_signed(key, i);
  return effects::input{.rank = rank, .payload = store.ingress().keep(std::move(room))};
}

// A table as a shard opens it.
runtime::status open_table(shard_store& store, const policies::open_table_call& table,
                           std::span<const policies::owned_chunk> chunks,
                           const store_options& options) {
  auto result = store.add_table(table, chunks, options);
  for (const auto& chunk : chunks)
    if (result.ok()) result = store.make_chunk(table, chunk);
  return result;
}

// A store, what was pushed to it, and what is to be released when.
class driven_store {
 public:
  explicit driven_store(std::unique_ptr<shard_store> store) : store_(std::move(store)) {}

  shard_store& get() { return *store_; }
  // A step with gradients that follow from the key; their payloads are released at once.
  void step(const effects::apply& step, std::uint64_t key) {
    std::vector<effects::input> inputs;
    const auto elements = chunk_elements[step.slot];
    for (std::uint32_t rank = 0; rank < step.count; ++rank) {
      const auto input = push(*store_, rank, elements, key + rank);
      ASSERT_TRUE(input) << "as many as may be on their way";
      inputs.push_back(*input);
    }
    EXPECT_TRUE(store_->apply(step, inputs).ok());
    for (const auto& input : inputs) store_->ingress().release(input.payload);
  }
  std::shared_ptr<std::vector<float>> copy(const shard_memory::array_name& array) {
    auto copy = std::make_shared<std::vector<float>>(chunk_elements[array.slot]);
    store_->copy_out(array, *copy, copy);
    return copy;
  }
  void finish() {
    while (!store_->ingress().work().is_idle()) ASSERT_TRUE(store_->poll().ok());
  }
  std::vector<float> shown(std::uint32_t slot, std::uint32_t version_buffer) {
    store_->show({&slot, 1}, version_buffer);
    finish();
    const auto bytes = store_->ingress().payload_of({}, slot, version_buffer);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::unique_ptr<shard_store> store_;
};

driven_store on_host() {
  return driven_store(std::make_unique<shard_store>(std::make_shared<runtime::heap_source>()));
}

driven_store on_device(std::uint64_t seed) {
  auto store =
      shard_store::on_device(std::make_shared<runtime::heap_source>(), make_device(seed));
  EXPECT_TRUE(store) << store.error().message();
  return driven_store(std::move(*store));
}

bool equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class both_stores : public testing::TestWithParam<policies::optimizer_kind> {
 protected:
  void open(const store_options& options = replicated) {
    for (auto* store : {&host_, &device_})
      ASSERT_TRUE(
          open_table(store->get(), weights(GetParam()), chunks_of_table(), options).ok());
  }
  // The same step of both, which depends on the number alone.
  void step(std::uint64_t number) {
    runtime::rng random(runtime::mix64(number));
    effects::apply step;
    step.slot = static_cast<std::uint32_t>(random.below(std::size(chunk_elements)));
    step.count = static_cast<std::uint32_t>(1 + random.below(3));
    step.from = current_[step.slot];
    step.to = static_cast<std::uint32_t>(random.below(4));
    step.contributors = step.count;
    step.keeps_sum = random.below(2) == 0;
    step.clock = number;
    current_[step.slot] = step.to;
    for (auto* store : {&host_, &device_}) store->step(step, number * 100);
  }
  std::uint32_t states() const {
    return policies::state_arrays(policies::default_optimizer(GetParam()));
  }

  driven_store host_ = on_host();
  driven_store device_ = on_device(23);
  std::uint32_t current_[std::size(chunk_elements)] = {};
};

TEST_P(both_stores, make_the_same_steps_and_show_them) {
  open();
  for (std::uint64_t number = 1; number <= 60; ++number) {
    step(number);
    if (number % 4 == 0) device_.finish();  // as many pushes as there is room for
    const auto slot = static_cast<std::uint32_t>(number % std::size(chunk_elements));
    if (number % 5 != 0) continue;
    EXPECT_TRUE(equal(host_.shown(slot, current_[slot]), device_.shown(slot, current_[slot])));
  }
  for (std::uint32_t slot = 0; slot < std::size(chunk_elements); ++slot) {
    EXPECT_TRUE(equal(host_.shown(slot, current_[slot]), device_.shown(slot, current_[slot])));
    for (std::uint32_t i = 0; i < states(); ++i) {
      const shard_memory::array_name state{.slot = slot,
                                           .of = i == 0 ? kind::state1 : kind::state2};
      const auto expected = host_.copy(state), found = device_.copy(state);
      device_.finish();
      EXPECT_TRUE(equal(*expected, *found));
    }
    EXPECT_EQ(host_.get().describe(slot).about.beta1_power,
              device_.get().describe(slot).about.beta1_power);
  }
}

// A copy is of the moment in which it was asked for, whatever follows before it is there.
TEST_P(both_stores, copy_what_was_there_when_they_were_asked) {
  open();
  std::vector<
      std::pair<std::shared_ptr<std::vector<float>>, std::shared_ptr<std::vector<float>>>>
      copies;
  for (std::uint64_t number = 1; number <= 24; ++number) {
    step(number);
    for (std::uint32_t slot = 0; slot < std::size(chunk_elements); ++slot) {
      const shard_memory::array_name now{.slot = slot, .version_buffer = current_[slot]};
      copies.emplace_back(host_.copy(now), device_.copy(now));
    }
    if (number % 4 == 0) device_.finish();
  }
  device_.finish();
  for (const auto& [expected, found] : copies) ASSERT_TRUE(equal(*expected, *found));
}

TEST_P(both_stores, leave_the_same_sums_for_a_replica) {
  open();
  for (std::uint64_t clock = 1; clock <= 4; ++clock)
    for (const auto count : {1U, 3U}) {
      const effects::apply step{
          .slot = 2, .count = count, .contributors = count, .keeps_sum = true, .clock = clock};
      for (auto* store : {&host_, &device_}) store->step(step, clock * 100);
      device_.finish();
      EXPECT_TRUE(
          std::ranges::equal(host_.get().sum_of(2, clock), device_.get().sum_of(2, clock)));
    }
}

// A chunk goes from either to either, as when a shard on a device has a replica that has none.
TEST_P(both_stores, hand_chunks_over_to_each_other) {
  open();
  for (std::uint64_t number = 1; number <= 8; ++number) {
    step(number);
    device_.finish();
  }
  effects::seed seed{.slot = 2, .version_buffer = current_[2]};
  seed.kept = {current_[2], policies::no_version_buffer};
  policies::shard_core::seed_state state;
  state.now.version = 9;
  state.now.ranks.resize(3);
  state.kept = {8};
  const auto from_host = host_.get().seed_of(seed, state);
  const auto from_device = device_.get().seed_of(seed, state);
  device_.finish();
  ASSERT_TRUE(equal(*from_host, *from_device));
  auto fresh_host = on_host(), fresh_device = on_device(5);
  for (auto* store : {&fresh_host, &fresh_device}) {
    ASSERT_TRUE(
        open_table(store->get(), weights(GetParam()), chunks_of_table(), replicated).ok());
    ASSERT_TRUE(store->get().take_seed(2, std::as_bytes(std::span(*from_device))));
    EXPECT_TRUE(equal(store->shown(2, 0), host_.shown(2, current_[2])));
    EXPECT_TRUE(equal(store->shown(2, 1), host_.shown(2, current_[2]))) << "the kept one";
    // And goes on alike.
    store->step({.slot = 2, .count = 2, .contributors = 2, .clock = 9}, 900);
  }
  EXPECT_TRUE(equal(fresh_host.shown(2, 0), fresh_device.shown(2, 0)));
}

// With a cache that has room for a third of the arrays.
TEST(shard_store_on_a_device, a_cache_changes_no_bit) {
  constexpr std::uint64_t elements = 2000;
  constexpr std::uint32_t chunks = 12;
  std::vector<policies::owned_chunk> places;
  for (std::uint32_t i = 0; i < chunks; ++i)
    places.push_back({.chunk = i, .slot = i, .first = i * elements, .elements = elements});
  auto host = std::make_unique<shard_store>(std::make_shared<runtime::heap_source>());
  auto cached =
      shard_store::on_device(std::make_shared<runtime::heap_source>(), make_device(31),
                             {.slot_bytes = std::size_t{64} << 10,
                              .cache_bytes = devices::cache_bytes_min(elements * sizeof(float)),
                              .chunk_bytes_max = elements * sizeof(float)});
  ASSERT_TRUE(cached) << cached.error().message();
  std::uint32_t current[chunks] = {};
  std::vector<float> gradient(elements);
  for (auto* store : {host.get(), cached->get()})
    ASSERT_TRUE(open_table(*store, weights(policies::optimizer_kind::adam), places,
                           {.workers = 2, .members = 40, .keeps = 1})
                    .ok());
  runtime::rng random(3);
  for (std::uint64_t clock = 0; clock < 150; ++clock) {
    const auto slot = static_cast<std::uint32_t>(random.below(chunks));
    const effects::apply step{.slot = slot,
                              .count = 1,
                              .from = current[slot],
                              .to = static_cast<std::uint32_t>(random.below(3)),
                              .clock = clock};
    current[slot] = step.to;
    for (auto* store : {host.get(), cached->get()}) {
      const auto input = push(*store, 0, elements, clock);
      ASSERT_TRUE(input);
      EXPECT_TRUE(store->apply(step, {&*input, 1}).ok());
      store->ingress().release(input->payload);
      store->show({&slot, 1}, step.to);
    }
    while (clock % 10 == 9 && !(*cached)->ingress().work().is_idle())
      ASSERT_TRUE((*cached)->poll().ok());
  }
  while (!(*cached)->ingress().work().is_idle()) ASSERT_TRUE((*cached)->poll().ok());
  for (std::uint32_t slot = 0; slot < chunks; ++slot) {
    const auto expected = host->ingress().payload_of({}, slot, current[slot]);
    const auto found = (*cached)->ingress().payload_of({}, slot, current[slot]);
    EXPECT_TRUE(std::ranges::equal(expected, found)) << slot;
  }
}

INSTANTIATE_TEST_SUITE_P(optimizers, both_stores,
                         testing::Values(policies::optimizer_kind::sgd,
                                         policies::optimizer_kind::momentum,
                                         policies::optimizer_kind::adam),
                         [](const auto& test) {
                           return std::string(runtime::traits_of(test.param).name);
                         });

TEST(shard_store_on_a_device, a_payload_stays_until_the_device_has_read_it) {
  auto store = on_device(7);
  ASSERT_TRUE(open_table(store.get(), weights(policies::optimizer_kind::sgd), chunks_of_table(),
                         {.workers = 1, .members = 1})
                  .ok());
  store.finish();
  store.step({.slot = 0, .count = 1, .clock = 1}, 100);
  store.step({.slot = 0, .count = 1, .clock = 2}, 200);
  EXPECT_FALSE(store.get().ingress().lease(chunk_elements[0] * sizeof(float)))
      << "both pushes that a worker may have on their way are still read";
  store.finish();
  EXPECT_TRUE(store.get().ingress().lease(chunk_elements[0] * sizeof(float)));
}

TEST(shard_store_on_a_device, more_members_than_a_launch_sums_are_refused) {
  auto store = on_device(7);
  const auto refused =
      open_table(store.get(), weights(policies::optimizer_kind::sgd), chunks_of_table(),
                 {.workers = 65, .members = 130, .inputs = 65});
  EXPECT_EQ(refused.code(), runtime::errc::over_limit);
  EXPECT_NE(refused.message().find("aggregators"), std::string::npos);
  // Its slots are used up, and another table has the next ones.
  auto another = weights(policies::optimizer_kind::sgd);
  another.table = table + 1;
  auto chunks = chunks_of_table();
  for (auto& chunk : chunks) chunk.slot += static_cast<std::uint32_t>(chunks.size());
  EXPECT_TRUE(open_table(store.get(), another, chunks, {.workers = 1, .members = 1}).ok());
  const auto slot = chunks[0].slot;
  store.get().show({&slot, 1}, 0);
}

TEST(shard_store_on_a_device, a_device_that_is_lost_is_told_by_the_next_poll) {
  auto device = make_device(3);
  auto* const control = device.get();
  auto made =
      shard_store::on_device(std::make_shared<runtime::heap_source>(), std::move(device));
  ASSERT_TRUE(made);
  driven_store store(std::move(*made));
  ASSERT_TRUE(open_table(store.get(), weights(policies::optimizer_kind::sgd), chunks_of_table(),
                         {.workers = 1, .members = 1})
                  .ok());
  store.finish();
  store.step({.slot = 0, .count = 1, .clock = 1}, 100);
  control->lose();
  EXPECT_EQ(store.get().poll().code(), runtime::errc::unavailable);
  EXPECT_FALSE(store.get().ingress().work().is_idle()) << "what has not ended never does";
}

// For another version buffer, in the middle of training.
TEST(shard_store_on_a_device, a_device_without_room_is_as_good_as_lost) {
  auto device = make_device(3);
  auto* const control = device.get();
  auto store =
      shard_store::on_device(std::make_shared<runtime::heap_source>(), std::move(device));
  ASSERT_TRUE(store);
  constexpr std::uint64_t elements = 600'000;  // a version buffer shares its memory with none
  const policies::owned_chunk chunk{.elements = elements};
  ASSERT_TRUE(open_table(**store, weights(policies::optimizer_kind::sgd), {&chunk, 1},
                         {.workers = 1, .members = 1})
                  .ok());
  const auto input = push(**store, 0, elements, 7);
  ASSERT_TRUE(input);
  control->fail_allocation(1);
  EXPECT_TRUE((*store)->apply({.count = 1, .to = 1, .clock = 1}, {&*input, 1}).ok());
  EXPECT_EQ((*store)->poll().code(), runtime::errc::io_error);
  EXPECT_FALSE((*store)->ingress().work().is_idle()) << "nobody is told of the step";
  (*store)->ingress().release(input->payload);
}

TEST(shard_store_on_a_device, steps_allocate_nothing_once_they_are_warm) {
  auto store = on_device(9);
  ASSERT_TRUE(open_table(store.get(), weights(policies::optimizer_kind::adam),
                         chunks_of_table(), {.workers = 1, .members = 1})
                  .ok());
  const auto input = push(store.get(), 0, chunk_elements[0], 7);
  ASSERT_TRUE(input);
  std::uint64_t clock = 0;
  const auto turn = [&] {
    const effects::apply step{.slot = 0, .count = 1, .clock = ++clock};
    const std::uint32_t slot = 0;
    EXPECT_TRUE(store.get().apply(step, {&*input, 1}).ok());
    store.get().show({&slot, 1}, 0);
    while (!store.get().ingress().work().is_idle()) static_cast<void>(store.get().poll());
  };
  for (int i = 0; i < 30; ++i) turn();
  const auto before = tests::allocations();
  for (int i = 0; i < 30; ++i) turn();
  EXPECT_EQ(tests::allocations() - before, 0U);
  store.get().ingress().release(input->payload);
}

}  // namespace
}  // namespace tidegate::actors
