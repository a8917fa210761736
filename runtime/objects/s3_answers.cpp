#include "runtime/objects/s3_answers.hpp"

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <sstream>

namespace tidegate::runtime {

namespace {

constexpr std::size_t message_bytes_max = 200;

// The element at the root, or nothing. Documents that define entities are none of a store's:
// pugixml leaves them alone.
class answer {
 public:
  answer(std::string_view xml, const char* name) {
    if (document_.load_buffer(xml.data(), xml.size(), pugi::parse_default))
      root_ = document_.child(name);
  }
  explicit operator bool() const { return static_cast<bool>(root_); }
  const pugi::xml_node& root() const { return root_; }
  std::string text(const char* name) const { return root_.child(name).text().get(); }
  bool is_cut() const {
    return std::strcmp(root_.child("IsTruncated").text().get(), "true") == 0;
  }

 private:
  pugi::xml_document document_;
  pugi::xml_node root_;
};

auto no_answer(const char* name) {
  return fail(errc::corrupt,
              "the answer is not a store's: it has no whole " + std::string(name) +
                  "; is AWS_ENDPOINT_URL the address of a store that speaks S3?");
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  if (text.size() > message_bytes_max) text.resize(message_bytes_max);
  return text;
}

}  // namespace

expected<s3_keys> parse_s3_keys(std::string_view xml) {
  const answer read(xml, "ListBucketResult");
  if (!read) return no_answer("ListBucketResult");
  s3_keys page;
  for (const auto& entry : read.root().children("Contents")) {
    page.keys.emplace_back(entry.child("Key").text().get());
    if (page.keys.back().empty()) return no_answer("Key");
  }
  if (read.is_cut()) page.next = read.text("NextContinuationToken");
  if (read.is_cut() && page.next.empty()) return no_answer("NextContinuationToken");
  return page;
}

expected<s3_uploads> parse_s3_uploads(std::string_view xml) {
  const answer read(xml, "ListMultipartUploadsResult");
  if (!read) return no_answer("ListMultipartUploadsResult");
  s3_uploads page;
  for (const auto& entry : read.root().children("Upload")) {
    page.uploads.push_back(
        {entry.child("Key").text().get(), entry.child("UploadId").text().get()});
    if (page.uploads.back().key.empty() || page.uploads.back().id.empty())
      return no_answer("Upload");
  }
  if (read.is_cut()) page.next = {read.text("NextKeyMarker"), read.text("NextUploadIdMarker")};
  if (read.is_cut() && page.next.key.empty()) return no_answer("NextKeyMarker");
  return page;
}

expected<std::string> parse_s3_upload_id(std::string_view xml) {
  const answer read(xml, "InitiateMultipartUploadResult");
  auto id = read.text("UploadId");
  if (id.empty()) return no_answer("UploadId");
  return id;
}

s3_refusal parse_s3_refusal(std::string_view xml) {
  const answer read(xml, "Error");
  return {.code = printable(read.text("Code")), .message = printable(read.text("Message"))};
}

bool is_s3_completed(std::string_view xml) {
  return static_cast<bool>(answer(xml, "CompleteMultipartUploadResult"));
}

std::string s3_completion(const std::vector<std::string>& tags) {
  pugi::xml_document document;
  auto root = document.append_child("CompleteMultipartUpload");
  for (std::size_t i = 0; i < tags.size(); ++i) {
    auto part = root.append_child("Part");
    part.append_child("PartNumber").text().set(static_cast<unsigned>(i + 1));
    part.append_child("ETag").text().set(tags[i].c_str());
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

}  // namespace tidegate::runtime
