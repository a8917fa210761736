#include "runtime/objects/s3_answers.hpp"

#include <gmock/gmock.h>

namespace tidegate::runtime {
namespace {

using testing::ElementsAre;

constexpr const char* xmlns = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

TEST(s3_answers, have_keys_and_say_whether_there_are_more) {
  const auto last = parse_s3_keys(
      std::string("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult ") + xmlns +
      "><Name>b</Name><IsTruncated>false</IsTruncated><Contents><Key>a/b</Key><Size>3</Size>"
      "</Contents><Contents><Key>a/&lt;c&amp;&gt;</Key></Contents><CommonPrefixes><Prefix>a/d/"
      "</Prefix></CommonPrefixes></ListBucketResult>");
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_THAT(last->keys, ElementsAre("a/b", "a/<c&>"));
  EXPECT_EQ(last->next, "");
  const auto first = parse_s3_keys(
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>"
      "1+/=</NextContinuationToken></ListBucketResult>");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->next, "1+/=");
}

TEST(s3_answers, have_uploads) {
  const auto page = parse_s3_uploads(
      "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>u</UploadId></Upload>"
      "<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u"
      "</NextUploadIdMarker></ListMultipartUploadsResult>");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->uploads, ElementsAre(s3_upload{"k", "u"}));
  EXPECT_EQ(page->next, (s3_upload{"k", "u"}));
  EXPECT_EQ(*parse_s3_upload_id("<InitiateMultipartUploadResult><UploadId>a-1"
                                "</UploadId></InitiateMultipartUploadResult>"),
            "a-1");
}

TEST(s3_answers, are_none_where_something_is_missing) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (const std::string& text :
       {std::string(), std::string("<"), std::string("<html><body>hello</body></html>"),
        std::string("{}"), std::string("<ListBucketResult>"), std::string("\0\0", 2), deep,
        std::string("<ListBucketResult><Contents/></ListBucketResult>"),
        std::string("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
        std::string("<ListMultipartUploadsResult><Upload><Key>k</Key></Upload>"
                    "</ListMultipartUploadsResult>"),
        std::string("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                    "</ListMultipartUploadsResult>"),
        std::string("<InitiateMultipartUploadResult/>")}) {
    for (const auto& why :
         {parse_s3_keys(text).map([](auto&&) {}), parse_s3_uploads(text).map([](auto&&) {}),
          parse_s3_upload_id(text).map([](auto&&) {})}) {
      ASSERT_FALSE(why) << text.substr(0, 80);
      EXPECT_EQ(why.error().code(), errc::corrupt);
    }
    EXPECT_EQ(parse_s3_refusal(text).code, "");
  }
}

TEST(s3_answers, do_not_expand_what_they_define_themselves) {
  const auto page = parse_s3_keys(
      "<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY x \"yyyy\"><!ENTITY f SYSTEM "
      "\"file:///etc/passwd\">]><ListBucketResult><Contents><Key>&x;&f;</Key></Contents>"
      "</ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->keys, ElementsAre("&x;&f;"));
}

TEST(s3_answers, say_why_they_refuse) {
  const auto said = parse_s3_refusal(
      "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>It is\nnot there"
      "</Message></Error>");
  EXPECT_EQ(said.code, "NoSuchBucket");
  EXPECT_EQ(said.message, "It is not there");
  EXPECT_EQ(parse_s3_refusal("<Error><Message>" + std::string(5000, 'x') + "</Message></Error>")
                .message.size(),
            200U);
}

TEST(s3_answers, say_that_an_upload_is_complete_or_do_not) {
  EXPECT_TRUE(is_s3_completed("\n <CompleteMultipartUploadResult/>"));
  EXPECT_TRUE(
      is_s3_completed("<?xml version=\"1.0\"?>\n<CompleteMultipartUploadResult "
                      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>a</ETag>"
                      "</CompleteMultipartUploadResult>"));
  for (const auto* other : {"", " ", "<Error><Code>InternalError</Code></Error>", "<html/>",
                            "<CompleteMultipartUploadResult>", "nothing"})
    EXPECT_FALSE(is_s3_completed(other)) << other;
}

TEST(s3_answers, complete_an_upload_with_its_parts) {
  EXPECT_EQ(s3_completion({"\"a\"", "\"<b>\""}),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"&lt;b&gt;\"</ETag></Part>"
            "</CompleteMultipartUpload>");
}

}  // namespace
}  // namespace tidegate::runtime
