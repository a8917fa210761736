#include "actors/node/manifest_writer.hpp"

#include <future>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::status;
using testing::ElementsAre;

// What has been done, in its order; from any thread.
class notes {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    all_.push_back(text);
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

TEST(manifest_writer, lets_its_owner_go_on_while_it_writes) {
  notes done;
  std::promise<void> may_write;
  std::promise<void> ended;
  manifest_writer writer([&] { ended.set_value(); });
  std::optional<status> result;
  writer.add({.write =
                  [&, may = may_write.get_future().share()] {
                    may.wait();
                    done.add("written");
                    return status();
                  },
              .tidy = [&] { done.add("tidied"); },
              .then = [&](const status& written) { result = written; }});
  writer.deliver();
  EXPECT_FALSE(result) << "a disk or a network that takes its time";
  may_write.set_value();
  ended.get_future().wait();
  EXPECT_FALSE(result) << "it is told on the owner's thread";
  writer.deliver();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok());
}

TEST(manifest_writer, writes_in_order_and_tidies_up_after_what_was_written) {
  notes done;
  std::promise<void> all;
  int left = 3;
  std::vector<errc> results;
  {
    manifest_writer writer([&] {
      if (--left == 0) all.set_value();
    });
    for (const auto code : {errc::ok, errc::unavailable, errc::ok})
      writer.add({.write =
                      [&, code] {
                        done.add("write");
                        return code == errc::ok ? status() : status(code, "no answer");
                      },
                  .tidy = [&] { done.add("tidy"); },
                  .then = [&](const status& written) { results.push_back(written.code()); }});
    all.get_future().wait();
    writer.deliver();
  }
  EXPECT_THAT(results, ElementsAre(errc::ok, errc::unavailable, errc::ok));
  EXPECT_THAT(done.all(), ElementsAre("write", "tidy", "write", "write", "tidy"));
}

TEST(manifest_writer, leaves_what_has_not_begun_when_it_ends) {
  notes done;
  std::promise<void> begun;
  std::promise<void> may_write;
  std::thread owner;
  {
    auto writer = std::make_unique<manifest_writer>([] {});
    writer->add({.write =
                     [&, may = may_write.get_future().share()] {
                       begun.set_value();
                       may.wait();
                       done.add("first");
                       return status();
                     },
                 .tidy = [] {},
                 .then = [](const status&) {}});
    writer->add({.write =
                     [&] {
                       done.add("second");
                       return status();
                     },
                 .tidy = [] {},
                 .then = [](const status&) {}});
    begun.get_future().wait();
    owner = std::thread([ended = std::move(writer)]() mutable { ended.reset(); });
  }
  may_write.set_value();
  owner.join();
  EXPECT_EQ(done.all().front(), "first") << "what is being written is written";
}

}  // namespace
}  // namespace tidegate::actors
