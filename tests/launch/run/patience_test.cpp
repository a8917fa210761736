#include "launch/run/patience.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

using testing::HasSubstr;

policies::cluster_spec with_host(const std::string& address) {
  policies::cluster_spec spec;
  spec.hosts.push_back({.name = "green", .address = address, .prefix = {}});
  return spec;
}

TEST(patience, waits_for_names_for_so_long) {
  EXPECT_TRUE(await_names(with_host("127.0.0.1"), 1000).ok());
  const auto unknown = await_names(with_host("no.such.name.invalid"), 1);
  EXPECT_EQ(unknown.code(), runtime::errc::unavailable);
  EXPECT_THAT(unknown.message(), HasSubstr("host green: the address 'no.such.name.invalid'"));
  EXPECT_TRUE(await_names(with_host("no.such.name.invalid"), 0).ok()) << "nobody asks";
}

TEST(patience, waits_for_a_launcher_to_end) {
  const tests::temporary_folder folder;
  auto held = lock_as_launcher(folder.path(""), 0600, 0);
  ASSERT_TRUE(held && *held);
  const auto refused = lock_as_launcher(folder.path(""), 0600, 1);
  ASSERT_TRUE(refused) << refused.error().message();
  EXPECT_FALSE(*refused);
  // It ends at some time from now on.
  std::jthread ends([&] { held->reset(); });
  const auto taken = lock_as_launcher(folder.path(""), 0600, 60'000);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(*taken);
}

TEST(patience, says_of_a_folder_that_is_not_there) {
  const auto lock = lock_as_launcher("/no/such/folder", 0600, 0);
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message(), HasSubstr("/no/such/folder/launcher.lock"));
}

}  // namespace
}  // namespace tidegate::launch
