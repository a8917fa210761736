// A table whose chunks lie on two shards: one array within the budget of mappings, and the same
// values in the shards' own windows beyond it.
#include "actors/store/table_memory.hpp"

#include <algorithm>
#include <fstream>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::actors {
namespace {

constexpr std::uint64_t chunk_elements = 1024;  // a page
constexpr std::uint32_t chunks = 64;
constexpr std::uint32_t version_buffers = 4;

std::size_t mappings_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::size_t lines = 0;
  while (std::getline(maps, line)) ++lines;
  return lines;
}

struct table_memory_test : testing::Test {
  table_memory_test() {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      places.push_back({chunk, chunk % 2, chunk * chunk_elements, chunk_elements});
      parts[chunk % 2].shard = chunk % 2;
      parts[chunk % 2].chunks.push_back(chunk);
    }
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      auto place = shards[shard].allocate(chunks / 2 * chunk_elements * sizeof(float));
      EXPECT_TRUE(place);
      names[shard] = shards[shard].name(*place);
      auto* values = reinterpret_cast<float*>(shards[shard].at(*place, 0));
      for (std::uint32_t i = 0; i < chunks / 2; ++i)
        std::fill_n(values + i * chunk_elements, chunk_elements,
                    static_cast<float>(2 * i + shard));
    }
  }
  // Opens the table and finds it in version buffer 0.
  std::shared_ptr<table_memory> open(policies::mapping_budget& budget) {
    auto memory = table_memory::make(gradients, budget, places);
    EXPECT_TRUE(memory);
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      EXPECT_TRUE((*memory)
                      ->attach(parts[shard], names[shard], version_buffers, 0, windows[shard])
                      .ok());
    (*memory)->found(
        std::vector<table_memory::place_found>(chunks, {.version_buffer = 0, .moves = 0}));
    return *memory;
  }
  static void expect_values(const table_memory& memory) {
    std::vector<float> all(chunks * chunk_elements);
    memory.gather(all);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      EXPECT_EQ(all[chunk * chunk_elements + 7], static_cast<float>(chunk));
  }

  policies::table_places places;
  policies::table_part parts[2];
  runtime::arena gradients{"test-gradients", 2};
  runtime::arena shards[2] = {{"test-parameters", version_buffers},
                              {"test-parameters", version_buffers}};
  runtime::shm_handle names[2];
  runtime::window_map windows[2];
};

TEST_F(table_memory_test, is_one_array_within_the_budget) {
  policies::mapping_budget budget(policies::mappings_reserved + 3 * chunks);
  const auto memory = open(budget);
  EXPECT_EQ(memory->stretches().size(), 1U);
  EXPECT_EQ(budget.left(), 0U);
  expect_values(*memory);
}

TEST_F(table_memory_test, is_read_in_the_windows_of_its_shards_beyond_the_budget) {
  policies::mapping_budget budget(policies::mappings_reserved + 3 * chunks - 1);
  const auto before = mappings_of_this_process();
  const auto memory = open(budget);
  EXPECT_LT(mappings_of_this_process(), before + 10) << "windows and gradients only";
  EXPECT_EQ(memory->stretches().size(), chunks);
  EXPECT_EQ(budget.left(), 3 * chunks - 1) << "another table may be smaller";
  expect_values(*memory);
}

// A pull may be answered by a process that dies before the rest of the pull is answered.
struct moving_table_test : table_memory_test {
  // Shard 0 has moved so often, and its values are 1000 times as much more.
  void move(table_memory& memory, std::uint32_t moves) {
    auto& process = processes.emplace_back("test-parameters", version_buffers);
    auto place = process.allocate(chunks / 2 * chunk_elements * sizeof(float));
    ASSERT_TRUE(place);
    auto* values = reinterpret_cast<float*>(process.at(*place, 0));
    for (std::uint32_t i = 0; i < chunks / 2; ++i)
      std::fill_n(values + i * chunk_elements, chunk_elements,
                  static_cast<float>(2 * i + 1000 * moves));
    ASSERT_TRUE(
        memory.attach(parts[0], process.name(*place), version_buffers, moves, moved_to[moves])
            .ok());
  }
  static std::vector<table_memory::place_found> found_at(std::uint32_t moves,
                                                         bool asked = true) {
    std::vector<table_memory::place_found> sources(chunks, {.version_buffer = 0, .moves = 0});
    for (std::uint32_t chunk = 0; chunk < chunks; chunk += 2) {
      sources[chunk].moves = moves;
      sources[chunk].is_current = asked;
    }
    return sources;
  }
  static float value_of(const table_memory& memory, std::uint32_t chunk) {
    std::vector<float> all(chunks * chunk_elements);
    memory.gather(all);
    return all[chunk * chunk_elements + 7];
  }

  std::list<runtime::arena> processes;
  std::map<std::uint32_t, runtime::window_map> moved_to;
  policies::mapping_budget budget{policies::mappings_reserved + 3 * chunks};
};

TEST_F(moving_table_test, is_read_where_it_was_found_though_its_shard_has_moved_again) {
  const auto memory = open(budget);
  move(*memory, 1);
  move(*memory, 2);
  memory->found(found_at(1));
  EXPECT_EQ(value_of(*memory, 4), 1004.0F);
  EXPECT_EQ(value_of(*memory, 5), 5.0F) << "the other shard stays";
  EXPECT_TRUE(memory->reads(0, 2)) << "it may be found there next";
  memory->found(found_at(2));
  EXPECT_EQ(value_of(*memory, 4), 2004.0F);
  EXPECT_FALSE(memory->reads(0, 1));
  EXPECT_EQ(memory->stretches().size(), 1U);
  EXPECT_NE(memory->array(), nullptr);
}

TEST_F(moving_table_test, gives_up_windows_of_chunks_that_nobody_asks_for) {
  const auto memory = open(budget);
  move(*memory, 1);
  memory->found(found_at(1, false));
  EXPECT_FALSE(memory->reads(0, 0));
  EXPECT_TRUE(memory->reads(0, 1));
  EXPECT_EQ(memory->stretches().size(), chunks / 2);
  EXPECT_NE(memory->array(), nullptr) << "the table can be read from end to end";
  const runtime::element_range of_two[] = {{chunk_elements + 5, chunk_elements + 7},
                                           {3 * chunk_elements, 3 * chunk_elements + 1}};
  float values[3] = {};
  EXPECT_EQ(memory->copy_ranges(of_two, values), sizeof values);
  EXPECT_EQ(values[1], 1.0F);
  EXPECT_EQ(values[2], 3.0F);
}

}  // namespace
}  // namespace tidegate::actors
