// Reading a table of rows from another process.

#include "runtime/rows/row_reader.hpp"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr std::uint32_t dim = 24;
using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

row_table make_table() {
  row_table_options options;
  options.name = "shared";
  options.capacity = 200'000;
  options.dim = dim;
  options.optimizer.learning_rate = 1;
  options.initial = initial_kind::constant;
  options.initial_scale = 0;
  auto table = row_table::create(options);
  EXPECT_TRUE(table) << table.error().message();
  return std::move(*table);
}

ids_t range(std::uint64_t first, std::size_t count) {
  ids_t ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Runs `body` in a process of its own; it returns whether all was well.
template <class Body>
pid_t in_a_process(const Body& body) {
  const auto child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  return child;
}

bool succeeded(pid_t child) {
  int result = 0;
  return waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

TEST(row_reader, another_process_finds_and_gathers_in_place) {
  auto table = make_table();
  const auto ids = range(0, 50'000);
  ASSERT_TRUE(table.update({}, ids, floats(ids.size() * dim, -1.0F)).ok());
  const auto place = table.place();
  EXPECT_TRUE(succeeded(in_a_process([&] {
    const auto reader = row_reader::open(place);
    if (!reader) return false;
    const auto& view = reader->view();
    const auto wanted = range(40'000, 20'000);  // the second half does not exist
    floats out(wanted.size() * dim);
    const auto version = view.version();
    view.gather(wanted, out);
    row_view::end_of_read();
    if (version % 2 != 0 || view.version() != version || view.size() != 50'000) return false;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] != (i < 10'000 * dim ? 1.0F : 0.0F)) return false;
    return hash_of_rows(view).size() == 64;
  })));
  auto reader = row_reader::open(place);
  ASSERT_TRUE(reader) << reader.error().message();
  const row_reader moved = std::move(*reader);
  EXPECT_EQ(hash_of_rows(moved.view()), table.hash());
}

// A writer changes all rows, makes some and erases some; a reader that trusts the version sees
// no row that is half changed, and every row that is always there.
TEST(row_reader, sees_whole_changes_while_the_table_is_written) {
  auto table = make_table();
  const auto kept = range(0, 500);
  ASSERT_TRUE(table.update({}, kept, floats(kept.size() * dim, -1.0F)).ok());
  const auto place = table.place();
  const auto child = in_a_process([&] {
    const auto reader = row_reader::open(place);
    if (!reader) return false;
    const auto& view = reader->view();
    floats out(kept.size() * dim);
    for (int whole = 0; whole < 300;) {
      const auto version = view.version();
      view.gather(kept, out);
      row_view::end_of_read();
      if (version % 2 != 0 || view.version() != version) continue;
      ++whole;
      for (const float value : out)
        if (value != out[0] || value == 0) return false;
    }
    return true;
  });
  int result = 0;
  std::uint64_t next = 1'000;
  while (waitpid(child, &result, WNOHANG) == 0) {
    ASSERT_TRUE(table.update({}, kept, floats(kept.size() * dim, -1.0F)).ok());
    const auto others = range(next, 3'000);
    next += 1'000;
    ASSERT_TRUE(table.update({}, others, floats(others.size() * dim, 1.0F)).ok());
    table.erase(range(next - 1'000, 1'000));
    usleep(100);  // lets the reader have whole reads; nothing waits for it
  }
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

TEST(row_reader, opens_only_a_table_that_is_there_and_large_enough) {
  row_place place;
  {
    const auto table = make_table();
    place = table.place();
    EXPECT_TRUE(row_reader::open(place));
    auto larger = place;
    larger.shape.capacity = 10'000'000;
    EXPECT_EQ(row_reader::open(larger).error().code(), errc::corrupt);
    auto none = place;
    none.shape.dim = 0;
    EXPECT_EQ(row_reader::open(none).error().code(), errc::invalid_argument);
  }
  EXPECT_EQ(row_reader::open(place).error().code(), errc::unavailable);
}

}  // namespace
}  // namespace tidegate::runtime
