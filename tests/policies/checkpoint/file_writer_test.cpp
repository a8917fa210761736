// How a file is written: in which order, in which pieces, and what is left when that fails.
#include "policies/checkpoint/file_writer.hpp"

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"

namespace tidegate::policies {
namespace {

using progress = file_writer::progress;
using runtime::errc;
using runtime::status;
using testing::ElementsAre;

// Notes what is asked of it, and fails one call.
class noting_disk final : public runtime::storage {
 public:
  explicit noting_disk(std::string failing = {}) : failing_(std::move(failing)) {}

  status create(const std::string& name) override { return note("create " + name); }
  status append(const std::string& name, std::span<const std::byte> bytes) override {
    return note("append " + name + " " + std::to_string(bytes.size()));
  }
  status sync(const std::string& name) override { return note("sync " + name); }
  status close(const std::string& name) override { return note("close " + name); }
  status rename(const std::string& from, const std::string& to) override {
    return note("rename " + from + " " + to);
  }
  status remove(const std::string& name) override { return note("remove " + name); }
  status sync_folder() override { return note("sync_folder"); }
  runtime::expected<std::vector<std::string>> list() override { return calls; }
  runtime::expected<std::uint64_t> size(const std::string&) override { return 0; }
  status read(const std::string&, std::uint64_t, std::span<std::byte>) override { return {}; }

  std::vector<std::string> calls;

 private:
  status note(const std::string& call) {
    calls.push_back(call);
    if (failing_.empty() || !call.starts_with(failing_)) return {};
    return {errc::no_space, "full"};
  }

  std::string failing_;
};

file_writer writer_of(const std::string& text) {
  return {"a", pieces_of(text, {})};
}

TEST(file_writer, a_step_is_a_call_and_their_order_is_what_makes_it_safe) {
  noting_disk disk;
  auto writer = writer_of("tide");
  for (std::size_t steps = 1;; ++steps) {
    const auto how = writer.step(disk);
    ASSERT_EQ(disk.calls.size(), steps);
    if (how == progress::done) break;
    ASSERT_EQ(how, progress::working);
  }
  EXPECT_THAT(disk.calls, ElementsAre("create a.tmp", "append a.tmp 4", "sync a.tmp",
                                      "close a.tmp", "rename a.tmp a", "sync_folder"));
  EXPECT_EQ(writer.written(),
            (written_file{"a", 4,  // sha256sum of "tide"
                          "8a28929ac7f9a17e97a421ac2cd63ac73568ebe87bc0cee641a193d91c761577"}));
}

TEST(file_writer, large_spans_go_in_pieces_and_empty_ones_not_at_all) {
  const std::vector<std::byte> large(file_piece_bytes_max * 2 + 5);
  noting_disk disk;
  const auto file =
      write_all({"a", pieces_of("head", {{}, large, {}, std::span(large).first(3), {}})}, disk);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes, 4 + large.size() + 3);
  EXPECT_THAT(disk.calls,
              ElementsAre("create a.tmp", "append a.tmp 4", "append a.tmp 1048576",
                          "append a.tmp 1048576", "append a.tmp 5", "append a.tmp 3",
                          "sync a.tmp", "close a.tmp", "rename a.tmp a", "sync_folder"));
}

TEST(file_writer, what_fails_is_removed_under_the_name_it_has) {
  const struct {
    const char* failing;
    const char* last;
  } cases[] = {{"append", "remove a.tmp"},
               {"sync a", "remove a.tmp"},
               {"close", "remove a.tmp"},
               {"rename", "remove a.tmp"},
               {"sync_folder", "remove a"}};
  for (const auto& [failing, last] : cases) {
    noting_disk disk(failing);
    const auto file = write_all(writer_of("tide"), disk);
    ASSERT_FALSE(file) << failing;
    EXPECT_EQ(file.error().code(), errc::no_space);
    EXPECT_EQ(disk.calls.back(), last);
  }
}

TEST(file_writer, a_temporary_file_of_another_is_not_removed) {
  noting_disk disk("create");
  EXPECT_FALSE(write_all(writer_of("tide"), disk));
  EXPECT_THAT(disk.calls, ElementsAre("create a.tmp"));
}

TEST(file_writer, a_source_that_fails_ends_it) {
  noting_disk disk;
  const auto file =
      write_all({"a",
                 [n = 0]() mutable -> runtime::expected<std::span<const std::byte>> {
                   static constexpr std::byte one[1]{};
                   if (n++ == 0) return std::span<const std::byte>(one);
                   return runtime::fail(errc::io_error, "cannot be read");
                 }},
                disk);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message(), "cannot be read");
  EXPECT_EQ(disk.calls.back(), "remove a.tmp");
}

TEST(file_writer, a_full_disk_is_left_as_it_was) {
  sim::draws chance(1);
  sim::disk machine(chance);
  machine.faults.capacity_bytes = 3;
  sim::disk_view disk(machine);
  const auto file = write_all(writer_of("tide"), disk);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), errc::no_space);
  EXPECT_TRUE(disk.list()->empty());
}

}  // namespace
}  // namespace tidegate::policies
