// What the simulated disk keeps of what was synced, and that it loses all else in every way
// that it names.
#include "launch/simulate/cluster/disk.hpp"

#include <functional>
#include <set>

#include <gmock/gmock.h>

namespace tidegate::sim {
namespace {

using runtime::errc;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string read(disk_view& from, const std::string& name) {
  std::string text(from.size(name).value_or(0), '\0');
  EXPECT_TRUE(from.read(name, 0, std::as_writable_bytes(std::span(text))));
  return text;
}

void write(disk_view& to, const std::string& name, const std::string& text) {
  EXPECT_TRUE(to.create(name));
  EXPECT_TRUE(to.append(name, bytes(text)));
}

// What is in the folder, as one text.
std::string all_of(disk_view& view) {
  std::string all;
  const auto names = *view.list();
  for (const auto& name : names) all += name + "=" + read(view, name) + " ";
  return all;
}

// All that a crash after `run` has left, over many seeds.
std::set<std::string> left_by(const std::function<void(disk&, disk_view&)>& run) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    draws chance(seed);
    disk machine(chance);
    disk_view before(machine);
    run(machine, before);
    machine.crash();
    disk_view after(machine);
    seen.insert(all_of(after));
  }
  return seen;
}

TEST(disk, what_was_synced_stays) {
  const auto seen = left_by([](disk&, disk_view& d) {
    write(d, "a", "tide");
    EXPECT_TRUE(d.sync("a"));
    EXPECT_TRUE(d.close("a"));
    EXPECT_TRUE(d.rename("a", "b"));
    EXPECT_TRUE(d.sync_folder());
  });
  EXPECT_THAT(seen, ElementsAre("b=tide "));
}

TEST(disk, a_file_that_was_not_synced_is_torn_in_every_way) {
  const std::string text(600, 'x');
  const auto seen = left_by([&](disk&, disk_view& d) {
    write(d, "a", "ab");
    EXPECT_TRUE(d.sync("a"));
    EXPECT_TRUE(d.sync_folder());
    EXPECT_TRUE(d.append("a", bytes(text)));
  });
  EXPECT_TRUE(seen.contains("a=ab " + std::string()));
  EXPECT_TRUE(seen.contains("a=ab" + text + " "));
  EXPECT_TRUE(seen.contains("a=ab" + std::string(512, '\0') + std::string(88, 'x') + " "));
  EXPECT_TRUE(seen.contains("a=ab" + std::string(512, 'x') + std::string(88, '\0') + " "));
  bool garbage = false;
  for (const auto& found : seen) {
    EXPECT_EQ(found.substr(0, 4), "a=ab") << "what was synced is there";
    garbage = garbage || found.find_first_not_of(std::string("=ab x\0", 6)) != found.npos;
  }
  EXPECT_TRUE(garbage);
}

TEST(disk, names_that_were_not_synced_are_there_in_any_combination) {
  const auto seen = left_by([](disk&, disk_view& d) {
    write(d, "old", "1");
    write(d, "doomed", "2");
    EXPECT_TRUE(d.sync("old") && d.sync("doomed") && d.close("old") && d.close("doomed"));
    EXPECT_TRUE(d.sync_folder());
    write(d, "new", "3");
    EXPECT_TRUE(d.sync("new") && d.close("new"));
    EXPECT_TRUE(d.rename("new", "old"));
    EXPECT_TRUE(d.remove("doomed"));
  });
  EXPECT_THAT(seen, UnorderedElementsAre("doomed=2 old=1 ", "old=1 ", "doomed=2 old=3 ",
                                         "old=3 ", "doomed=2 new=3 old=1 ", "new=3 old=1 "))
      << "a rename is whole";
}

TEST(disk, a_sync_that_fails_drops_what_it_had_and_the_next_one_does_not_know) {
  const auto seen = left_by([](disk& machine, disk_view& d) {
    write(d, "a", "x");
    EXPECT_TRUE(d.sync_folder());
    machine.faults.fail_sync = 1;
    EXPECT_EQ(d.sync("a").code(), errc::io_error);
    machine.faults.fail_sync = 0;
    EXPECT_TRUE(d.sync("a"));
  });
  EXPECT_TRUE(seen.contains("a= "));
}

TEST(disk, processes_see_one_folder_and_keep_what_they_have_open) {
  draws chance(1);
  disk machine(chance);
  disk_view found(machine);
  disk_view other(machine);
  write(found, "a", "x");
  EXPECT_EQ(all_of(other), "a=x ");
  EXPECT_TRUE(other.remove("a"));
  EXPECT_TRUE(found.append("a", bytes("y"))) << "it still has it";
  EXPECT_TRUE(found.close("a"));
  EXPECT_EQ(found.rename("a", "b").code(), errc::not_found);
  EXPECT_DEATH((void)other.append("a", bytes("z")), "created here");
}

TEST(disk, a_full_disk_takes_what_fits) {
  draws chance(1);
  disk machine(chance);
  disk_view d(machine);
  machine.faults.capacity_bytes = 5;
  write(d, "a", "abc");
  EXPECT_TRUE(d.create("b"));
  EXPECT_EQ(d.append("b", bytes("def")).code(), errc::no_space);
  EXPECT_EQ(read(d, "b"), "de");
  EXPECT_TRUE(d.remove("a"));
  EXPECT_TRUE(d.append("b", bytes("def"))) << "there is room again";
}

TEST(disk, refuses_as_a_file_system_does) {
  draws chance(1);
  disk machine(chance);
  disk_view d(machine);
  write(d, "a", "x");
  EXPECT_EQ(d.create("a").code(), errc::already_exists);
  EXPECT_EQ(d.create("../a").code(), errc::invalid_argument);
  EXPECT_EQ(d.remove("b").code(), errc::not_found);
  EXPECT_EQ(d.size("b").error().code(), errc::not_found);
  EXPECT_EQ(d.rename("b", "c").code(), errc::not_found);
  std::byte two[2];
  EXPECT_EQ(d.read("a", 0, two).code(), errc::corrupt);
  machine.faults.fail_read = 1;
  EXPECT_EQ(d.read("a", 0, std::span(two).first(1)).code(), errc::io_error);
}

TEST(disk, a_machine_that_is_off_answers_nothing_until_it_comes_up) {
  draws chance(1);
  disk machine(chance);
  disk_view d(machine);
  machine.turn_off_after(2);
  write(d, "a", "x");
  EXPECT_TRUE(machine.is_off());
  EXPECT_EQ(d.sync("a").code(), errc::unavailable);
  machine.turn_on();
  EXPECT_EQ(all_of(d), "a=x ");
  machine.crash();
  EXPECT_EQ(d.list().error().code(), errc::unavailable) << "its process is gone";
  EXPECT_TRUE(disk_view(machine).list());
}

TEST(disk, flips_one_bit) {
  draws chance(1);
  disk machine(chance);
  disk_view d(machine);
  write(d, "a", std::string(64, '\0'));
  machine.flip_bit("a");
  int ones = 0;
  for (const char c : read(d, "a")) ones += __builtin_popcount(static_cast<unsigned char>(c));
  EXPECT_EQ(ones, 1);
}

}  // namespace
}  // namespace tidegate::sim
