#include "runtime/base/object_place.hpp"

#include <gmock/gmock.h>

namespace tidegate::runtime {
namespace {

using testing::HasSubstr;

TEST(object_place, is_a_bucket_and_what_is_below_it) {
  const auto place = parse_object_place("s3://my.bucket-1/runs/day=2026-01-31/a_b.C");
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_EQ(place->bucket, "my.bucket-1");
  EXPECT_EQ(place->prefix, "runs/day=2026-01-31/a_b.C");
  EXPECT_EQ(place->key_of("x"), "runs/day=2026-01-31/a_b.C/x");
  EXPECT_EQ(place->url_of("x"), "s3://my.bucket-1/runs/day=2026-01-31/a_b.C/x");
  const auto whole = parse_object_place("s3://abc");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->key_of("x"), "x");
  EXPECT_EQ(parse_object_place("s3://abc/d/")->prefix, "d");
}

TEST(object_place, is_none_where_a_store_or_an_address_would_take_it_for_another) {
  for (const char* text : {"",
                           "s3:",
                           "s3://",
                           "s3:///a",
                           "S3://abc",
                           "/abc",
                           "http://abc",
                           "s3://ab",
                           "s3://Abc",
                           "s3://a_bc",
                           "s3://-abc",
                           "s3://abc-",
                           "s3://a..bc",
                           "s3://abc//d",
                           "s3://abc/./d",
                           "s3://abc/..",
                           "s3://abc/a b",
                           "s3://abc/a?b",
                           "s3://abc/a%2Fb",
                           "s3://abc/a\nb",
                           "s3://abc/\xc3\xa4",
                           "s3://abc@d/e",
                           "s3://abc:80/e"}) {
    const auto place = parse_object_place(text);
    ASSERT_FALSE(place) << text;
    EXPECT_EQ(place.error().code(), errc::invalid_argument);
    EXPECT_THAT(place.error().message(), HasSubstr("allowed: s3://BUCKET/PREFIX"));
  }
  EXPECT_FALSE(parse_object_place("s3://" + std::string(64, 'a')));
  EXPECT_TRUE(parse_object_place("s3://abc/" + std::string(512, 'a')));
  EXPECT_FALSE(parse_object_place("s3://abc/" + std::string(513, 'a')));
}

}  // namespace
}  // namespace tidegate::runtime
