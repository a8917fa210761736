#include "actors/store/part_writer.hpp"

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/storage/posix_storage.hpp"

namespace tidegate::actors {
namespace {

// As a shard that has moved on while its part of a checkpoint was written: what tells of the
// end is the last that holds it.
TEST(part_writer, may_be_held_by_whom_it_tells) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "part_writer_test";
  std::filesystem::remove_all(folder);
  std::promise<void> released;
  std::promise<std::uint64_t> written;
  struct owner {
    std::promise<void>& gone;
    part_writer writer;
    explicit owner(std::promise<void>& when) : gone(when) {}
    ~owner() { writer.wait(), gone.set_value(); }
  };
  std::promise<void> gone;
  {
    auto self = std::make_shared<owner>(gone);
    const std::string text = "a part";
    self->writer.start(
        [&folder]() -> runtime::expected<std::unique_ptr<runtime::storage>> {
          auto made = runtime::posix_storage::make(folder.string());
          if (!made) return runtime::fail(made.error());
          return std::make_unique<runtime::posix_storage>(std::move(*made));
        },
        {"part", policies::pieces_of(text, {})},
        [self, &written, may = released.get_future().share()](auto file) {
          may.wait();
          written.set_value(file ? file->bytes : 0);
        });
  }
  released.set_value();
  EXPECT_EQ(written.get_future().get(), 6U);
  gone.get_future().wait();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tidegate::actors
