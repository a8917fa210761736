// What s3_bucket asks of a store, and what it makes of its answers: signatures, attempts,
// errors.
#include "runtime/objects/s3_bucket.hpp"

#include <gmock/gmock.h>

#include "runtime/objects/curl_library.hpp"
#include "tests/runtime/objects/store_of_tests.hpp"

namespace tidegate::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::bytes;
using answer = tests::store_of_tests::answer;
using request = tests::store_of_tests::request;

const object_place place{.bucket = "abc", .prefix = "day=1/mlp"};

s3_bucket bucket_of(s3_account account, std::uint32_t retry_ms = 1'000) {
  auto bucket = s3_bucket::open(
      std::move(account), place,
      {.connect_ms = 500, .stalled_s = 1, .completing_s = 1, .retry_ms = retry_ms});
  EXPECT_TRUE(bucket);
  return std::move(*bucket);
}

std::string read(s3_bucket& bucket, const std::string& name, std::size_t bytes_max = 100) {
  std::string text(bytes_max, '\0');
  const auto got = bucket.get(name, 0, std::as_writable_bytes(std::span(text)));
  EXPECT_TRUE(got) << got.error().message();
  text.resize(got.value_or(0));
  return text;
}

TEST(curl_library, says_what_to_install_where_it_is_not) {
  EXPECT_TRUE(the_curl());
  const auto missing = load_curl("libcurl_of_nobody.so.4");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), errc::not_found);
  EXPECT_THAT(missing.error().message(),
              AllOf(HasSubstr("libcurl_of_nobody.so.4"), HasSubstr("install it")));
  EXPECT_THAT(load_curl("libc.so.6").error().message(), HasSubstr("it lacks a function"));
}

TEST(s3_bucket, signs_all_that_it_asks) {
  tests::store_of_tests store;
  auto bucket = bucket_of(store.account());
  ASSERT_TRUE(bucket.put("a", bytes("tide")).ok());
  ASSERT_TRUE(bucket.put("b", {}).ok());
  EXPECT_EQ(read(bucket, "a"), "tide");
  EXPECT_EQ(*bucket.size("a"), 4U);
  ASSERT_TRUE(bucket.put_new("c", bytes("gate")).ok());
  EXPECT_THAT(*bucket.list(), ElementsAre("a", "b", "c")) << "in two pages";
  const auto upload = bucket.begin_upload("d");
  ASSERT_TRUE(upload) << upload.error().message();
  EXPECT_THAT(*bucket.uploads(), ElementsAre(s3_upload{"d", *upload}));
  const auto tag = bucket.put_part("d", *upload, 1, bytes("whole"));
  ASSERT_TRUE(tag);
  ASSERT_TRUE(bucket.complete("d", *upload, {*tag}).ok());
  EXPECT_EQ(store.objects().at("abc/day=1/mlp/d"), "whole");
  const auto given_up = bucket.begin_upload("e");
  ASSERT_TRUE(bucket.abort("e", *given_up).ok());
  ASSERT_TRUE(bucket.remove("a").ok());
  ASSERT_TRUE(bucket.remove("a").ok()) << "nothing is said of one that is not there";
  for (const auto& asked : store.requests())
    EXPECT_TRUE(asked.is_signed) << asked.method << " " << asked.path << "?" << asked.query;
  EXPECT_EQ(store.requests().front().path, "/abc/day%3D1/mlp/a");
}

TEST(s3_bucket, makes_an_object_only_where_there_is_none) {
  tests::store_of_tests store;
  auto bucket = bucket_of(store.account());
  ASSERT_TRUE(bucket.put_new("a", bytes("first")).ok());
  EXPECT_EQ(bucket.put_new("a", bytes("second")).code(), errc::already_exists);
  EXPECT_EQ(read(bucket, "a"), "first");
}

TEST(s3_bucket, has_bytes_as_far_as_there_are_any) {
  tests::store_of_tests store;
  auto bucket = bucket_of(store.account());
  ASSERT_TRUE(bucket.put("a", bytes("tidegate")).ok());
  std::string four(4, ' ');
  EXPECT_EQ(*bucket.get("a", 2, std::as_writable_bytes(std::span(four))), 4U);
  EXPECT_EQ(four, "dega");
  EXPECT_EQ(*bucket.get("a", 6, std::as_writable_bytes(std::span(four))), 2U);
  EXPECT_EQ(bucket.get("a", 8, std::as_writable_bytes(std::span(four))).error().code(),
            errc::corrupt);
  EXPECT_EQ(bucket.get("b", 0, std::as_writable_bytes(std::span(four))).error().code(),
            errc::not_found);
  EXPECT_EQ(bucket.size("b").error().code(), errc::not_found);
}

TEST(s3_bucket, tells_of_a_store_that_knows_no_ranges_without_asking_again) {
  const std::string object(1 << 20, 'x');
  tests::store_of_tests store([&](const request&) { return answer{.text = object}; });
  auto bucket = bucket_of(store.account());
  std::string begin(1000, ' ');
  for (const std::uint64_t offset : {0U, 1000U}) {
    const auto got = bucket.get("a", offset, std::as_writable_bytes(std::span(begin)));
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message(), HasSubstr("the store knows no ranges"));
  }
  EXPECT_EQ(store.requests().size(), 2U);
}

// Answers in their order, then the store's own.
tests::store_of_tests::plan in_turn(std::vector<answer> answers) {
  return [answers, next = std::size_t{0}](const request&) mutable -> std::optional<answer> {
    if (next == answers.size()) return std::nullopt;
    return answers[next++];
  };
}

TEST(s3_bucket, asks_again_where_that_means_the_same) {
  tests::store_of_tests store(
      in_turn({{.status = 503},
               {.breaks_off = true},
               {.status = 500},
               {.status = 429},
               {.status = 400, .text = "<Error><Code>RequestTimeout</Code></Error>"}}));
  auto bucket = bucket_of(store.account(), 20'000);
  ASSERT_TRUE(bucket.put("a", bytes("tide")).ok());
  EXPECT_EQ(store.requests().size(), 6U);
  EXPECT_EQ(read(bucket, "a"), "tide");
}

TEST(s3_bucket, asks_not_again_what_may_have_been_done) {
  for (const auto& first : {answer{.breaks_off = true}, answer{.status = 500}}) {
    tests::store_of_tests store(in_turn({first, first, first}));
    auto bucket = bucket_of(store.account());
    EXPECT_EQ(bucket.put_new("a", bytes("x")).code(), errc::unavailable);
    EXPECT_EQ(bucket.begin_upload("a").error().code(), errc::unavailable);
    EXPECT_EQ(bucket.complete("a", "id", {"tag"}).code(), errc::unavailable);
    EXPECT_EQ(store.requests().size(), 3U);
  }
  tests::store_of_tests busy(in_turn({{.status = 503}}));
  EXPECT_TRUE(bucket_of(busy.account()).put_new("a", bytes("x")).ok()) << "it was turned away";
}

TEST(s3_bucket, gives_up_in_time) {
  tests::store_of_tests store([](const request&) { return answer{.status = 503}; });
  auto bucket = bucket_of(store.account(), 500);
  const auto put = bucket.put("a", bytes("x"));
  EXPECT_EQ(put.code(), errc::unavailable);
  EXPECT_THAT(put.message(),
              HasSubstr("s3://abc/day=1/mlp/a: cannot be written: HTTP status 503"));
  EXPECT_GE(store.requests().size(), 3U);
  EXPECT_LE(store.requests().size(), 5U);
  auto nobody = store.account();
  nobody.endpoint = "http://127.0.0.1:1";
  const auto lost = bucket_of(nobody, 200).put("a", bytes("x"));
  EXPECT_EQ(lost.code(), errc::unavailable);
  EXPECT_THAT(lost.message(), HasSubstr("no answer of http://127.0.0.1:1: "));
}

TEST(s3_bucket, says_what_to_do_about_a_refusal) {
  struct refused {
    int status;
    const char* code;
    const char* says;
  };
  for (const auto& known :
       {refused{404, "NoSuchBucket", "make the bucket"},
        refused{403, "AccessDenied", "let them have s3:PutObject"},
        refused{403, "InvalidAccessKeyId", "does not know AWS_ACCESS_KEY_ID"},
        refused{403, "SignatureDoesNotMatch", "is not the secret of AWS_ACCESS_KEY_ID"},
        refused{403, "RequestTimeTooSkewed", "set the clock of this host"},
        refused{400, "ExpiredToken", "have run out"},
        refused{301, "PermanentRedirect", "set AWS_REGION"}}) {
    const answer says{.status = known.status,
                      .text = std::string("<Error><Code>") + known.code +
                              "</Code><Message>a reason</Message></Error>"};
    tests::store_of_tests store([&](const request&) { return says; });
    const auto put = bucket_of(store.account()).put("a", bytes("x"));
    EXPECT_EQ(put.code(), errc::refused);
    EXPECT_THAT(
        put.message(),
        AllOf(HasSubstr("s3://abc/day=1/mlp/a: cannot be written: HTTP status " +
                        std::to_string(known.status) + ", " + known.code + " (a reason)"),
              HasSubstr(known.says), Not(HasSubstr(store.account().secret))));
    EXPECT_EQ(store.requests().size(), 1U);
  }
  tests::store_of_tests full([](const request&) { return answer{.status = 507}; });
  EXPECT_EQ(bucket_of(full.account()).put("a", bytes("x")).code(), errc::no_space);
}

TEST(s3_bucket, believes_no_answer_of_others) {
  tests::store_of_tests store([](const request& asked) -> std::optional<answer> {
    if (asked.method == "GET") return answer{.text = "<html>log in first</html>"};
    return answer{.text = "  <Error><Code>InternalError</Code></Error>"};
  });
  auto bucket = bucket_of(store.account());
  const auto listed = bucket.list();
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message(), HasSubstr("is not a store's"));
  EXPECT_FALSE(bucket.uploads());
  EXPECT_FALSE(bucket.begin_upload("a"));
  EXPECT_EQ(bucket.complete("a", "id", {"tag"}).code(), errc::unavailable)
      << "an error that comes after 200";
  std::string text(4, ' ');
  EXPECT_FALSE(bucket.get("a", 0, std::as_writable_bytes(std::span(text))))
      << "more than was asked for";
}

}  // namespace
}  // namespace tidegate::runtime
