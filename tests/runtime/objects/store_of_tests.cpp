#include "tests/runtime/objects/store_of_tests.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/hmac.h>

#include "runtime/base/sha256.hpp"

namespace tidegate::runtime::tests {

namespace {

constexpr const char* key_id = "AKIATEST";
constexpr const char* secret = "a/secret+of=tests";
constexpr const char* session = "a-session";
constexpr const char* region = "eu-test-1";

std::string sha(const std::string& text) {
  sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

std::string hmac(const std::string& key, const std::string& text) {
  std::array<unsigned char, 32> out{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string hex(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4U];
    text += digits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto at = text.find(begin);
  if (at == std::string::npos) return {};
  const auto first = at + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

std::string header(const store_of_tests::request& asked, const std::string& name) {
  const auto at = asked.headers.find(name);
  return at == asked.headers.end() ? std::string() : at->second;
}

// Signature Version 4, as its description has it.
bool is_signed(const store_of_tests::request& asked) {
  const auto says = header(asked, "authorization");
  const auto names = between(says, "SignedHeaders=", ",");
  const auto date = header(asked, "x-amz-date");
  if (header(asked, "x-amz-content-sha256") != sha(asked.body) || date.size() != 16)
    return false;
  std::string canonical = asked.method + "\n" + asked.path + "\n" + asked.query + "\n";
  for (std::string rest = names + ";"; !rest.empty();) {
    const auto name = rest.substr(0, rest.find(';'));
    rest.erase(0, name.size() + 1);
    canonical += name + ":" + header(asked, name) + "\n";
  }
  canonical += "\n" + names + "\n" + sha(asked.body);
  const auto day = date.substr(0, 8);
  const auto scope = day + "/" + region + "/s3/aws4_request";
  const auto text = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + sha(canonical);
  const auto key =
      hmac(hmac(hmac(hmac(std::string("AWS4") + secret, day), region), "s3"), "aws4_request");
  const bool covers = names.find("host") != std::string::npos &&
                      names.find("x-amz-content-sha256") != std::string::npos &&
                      names.find("x-amz-security-token") != std::string::npos;
  return covers && header(asked, "x-amz-security-token") == session &&
         between(says, "Credential=", ",") == key_id + ("/" + scope) &&
         says.substr(says.find("Signature=") + 10) == hex(hmac(key, text));
}

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

std::string in_query(const store_of_tests::request& asked, const std::string& name) {
  return decoded(between("&" + asked.query + "&", "&" + name + "=", "&"));
}

bool send_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto sent = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_until(int fd, std::string& text, std::size_t size) {
  std::array<char, 65536> bytes{};
  while (text.size() < size) {
    const auto got = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return true;
}

store_of_tests::answer refusal(int status, const std::string& code) {
  return {.status = status, .text = "<Error><Code>" + code + "</Code></Error>"};
}

}  // namespace

store_of_tests::store_of_tests(plan planned) : planned_(std::move(planned)) {
  listener_ = unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), raw, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), raw, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

store_of_tests::~store_of_tests() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

s3_account store_of_tests::account() const {
  s3_account account;
  account.endpoint = "http://127.0.0.1:" + std::to_string(port_);
  account.region = region;
  account.key_id = key_id;
  account.secret = secret;
  account.session_token = session;
  return account;
}

std::vector<store_of_tests::request> store_of_tests::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::map<std::string, std::string> store_of_tests::objects() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

std::size_t store_of_tests::uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}

// A client has one connection, and opens the next when that has ended.
void store_of_tests::serve() {
  std::vector<std::thread> connections;
  for (;;) {
    const unique_fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) break;
    serve_connection(fd.get());
  }
}

void store_of_tests::serve_connection(int fd) {
  for (;;) {
    std::string text;
    std::size_t end = std::string::npos;
    while ((end = text.find("\r\n\r\n")) == std::string::npos) {
      std::array<pollfd, 2> both{pollfd{fd, POLLIN, 0}, pollfd{listener_.get(), POLLIN, 0}};
      ::poll(both.data(), both.size(), -1);
      if ((both[0].revents & (POLLIN | POLLHUP)) == 0) return;  // another client, or the end
      if (!receive_until(fd, text, text.size() + 1)) return;
    }
    request asked;
    auto head = text.substr(0, end + 2);
    asked.method = head.substr(0, head.find(' '));
    const auto target = between(head, " ", " ");
    asked.path = target.substr(0, target.find('?'));
    if (target.size() > asked.path.size()) asked.query = target.substr(asked.path.size() + 1);
    for (head.erase(0, head.find("\r\n") + 2); !head.empty();) {
      const auto line = head.substr(0, head.find("\r\n"));
      head.erase(0, line.size() + 2);
      auto name = line.substr(0, line.find(':'));
      std::transform(name.begin(), name.end(), name.begin(), ::tolower);
      asked.headers[name] = line.substr(line.find_first_not_of(' ', name.size() + 1));
    }
    if (header(asked, "expect") == "100-continue" &&
        !send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n"))
      return;
    const auto length = header(asked, "content-length");
    const auto size = length.empty() ? std::size_t{0} : std::stoul(length);
    if (!receive_until(fd, text, end + 4 + size)) return;
    asked.body = text.substr(end + 4, size);
    asked.is_signed = is_signed(asked);
    const auto answer = answer_to(asked);
    if (answer.breaks_off) return;
    const bool is_head = asked.method == "HEAD";
    if (!send_all(fd, "HTTP/1.1 " + std::to_string(answer.status) + " x\r\n" + answer.headers +
                          "Content-Length: " + std::to_string(answer.text.size()) + "\r\n\r\n" +
                          (is_head ? std::string() : answer.text)))
      return;
  }
}

store_of_tests::answer store_of_tests::answer_to(const request& asked) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(asked);
  if (planned_)
    if (auto planned = planned_(asked)) return *planned;
  if (!asked.is_signed) return refusal(403, "SignatureDoesNotMatch");
  if (asked.method == "PUT") return put(asked);
  if (asked.method == "POST") return post(asked);
  if (asked.method == "DELETE") {
    if (const auto upload = in_query(asked, "uploadId"); !upload.empty())
      return {.status = uploads_.erase(asked.path + "?" + upload) > 0 ? 204 : 404};
    objects_.erase(decoded(asked.path.substr(1)));
    return {.status = 204};
  }
  return ("&" + asked.query).find("&prefix=") == std::string::npos ? get(asked) : list(asked);
}

// Two names a page.
store_of_tests::answer store_of_tests::list(const request& asked) const {
  const bool of_uploads = asked.query.find("uploads=") != std::string::npos;
  const auto bucket = decoded(asked.path.substr(1));
  const auto prefix = bucket + in_query(asked, "prefix");
  const auto after = in_query(asked, of_uploads ? "key-marker" : "continuation-token");
  std::string text, last;
  std::size_t count = 0;
  bool is_cut = false;
  const auto add = [&](const std::string& path, const std::string& upload) {
    const auto key = path.substr(bucket.size());
    if (!path.starts_with(prefix) || (!after.empty() && key <= after)) return;
    if (!of_uploads && path.find('/', prefix.size()) != std::string::npos) return;
    if (++count > 2) {
      is_cut = true;
      return;
    }
    last = key;
    text += of_uploads
                ? "<Upload><Key>" + key + "</Key><UploadId>" + upload + "</UploadId></Upload>"
                : "<Contents><Key>" + key + "</Key></Contents>";
  };
  if (of_uploads)
    for (const auto& [path, parts] : uploads_)
      add(decoded(path.substr(1, path.find('?') - 1)), path.substr(path.find('?') + 1));
  else
    for (const auto& [path, bytes] : objects_) add(path, "");
  if (is_cut)
    text += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last +
            "</NextContinuationToken><NextKeyMarker>" + last + "</NextKeyMarker>";
  const std::string root = of_uploads ? "ListMultipartUploadsResult" : "ListBucketResult";
  return {.text = "<" + root + ">" + text + "</" + root + ">"};
}

store_of_tests::answer store_of_tests::put(const request& asked) {
  const auto path = decoded(asked.path.substr(1));
  if (const auto upload = in_query(asked, "uploadId"); !upload.empty()) {
    const auto at = uploads_.find(asked.path + "?" + upload);
    if (at == uploads_.end()) return refusal(404, "NoSuchUpload");
    const auto number = in_query(asked, "partNumber");
    at->second[std::stoi(number)] = asked.body;
    return {.headers = "ETag: \"part-" + number + "\"\r\n"};
  }
  if (header(asked, "if-none-match") == "*" && objects_.contains(path))
    return refusal(412, "PreconditionFailed");
  objects_[path] = asked.body;
  return {};
}

store_of_tests::answer store_of_tests::get(const request& asked) const {
  const auto at = objects_.find(decoded(asked.path.substr(1)));
  if (at == objects_.end()) return refusal(404, "NoSuchKey");
  const auto range = header(asked, "range");
  if (range.empty()) return {.text = at->second};
  const auto first = std::stoul(between(range, "bytes=", "-"));
  const auto last = std::stoul(range.substr(range.find('-') + 1));
  if (first >= at->second.size()) return refusal(416, "InvalidRange");
  return {.status = 206, .text = at->second.substr(first, last - first + 1)};
}

store_of_tests::answer store_of_tests::post(const request& asked) {
  if (asked.query == "uploads=") {
    const auto id = "id-" + std::to_string(requests_.size());
    uploads_[asked.path + "?" + id];
    return {.text = "<InitiateMultipartUploadResult><UploadId>" + id +
                    "</UploadId></InitiateMultipartUploadResult>"};
  }
  const auto at = uploads_.find(asked.path + "?" + in_query(asked, "uploadId"));
  if (at == uploads_.end()) return refusal(404, "NoSuchUpload");
  std::string whole;
  for (const auto& [number, bytes] : at->second) {
    if (asked.body.find("\"part-" + std::to_string(number) + "\"") == std::string::npos)
      return refusal(400, "InvalidPart");
    whole += bytes;
  }
  objects_[decoded(asked.path.substr(1))] = whole;
  uploads_.erase(at);
  return {.text = "\n<CompleteMultipartUploadResult/>"};
}

}  // namespace tidegate::runtime::tests
