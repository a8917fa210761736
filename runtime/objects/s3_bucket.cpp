#include "runtime/objects/s3_bucket.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>

#include "runtime/base/storage.hpp"

namespace tidegate::runtime {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds pause_first{100};
constexpr milliseconds pause_most{2'000};

// The store was busy, and has not done it.
bool is_turned_away(const s3_answer& answer) {
  return answer.status == 503 || answer.status == 429 ||
         (answer.status == 0 && !answer.may_have_arrived);
}

bool may_pass(const s3_answer& answer) {
  if (answer.status == 0 || answer.status >= 500)
    return answer.status != 501 && answer.status != 507;
  return answer.status == 429 || answer.status == 408 ||
         (answer.status == 400 && parse_s3_refusal(answer.text).code == "RequestTimeout");
}

struct advice {
  std::string_view code;
  std::string_view text;
};

// What to do about codes of S3, by their names there.
constexpr std::array known_codes = {
    advice{"NoSuchBucket",
           "make the bucket, or name another one in jobs.*.checkpoint.path, or another store "
           "(AWS_ENDPOINT_URL, AWS_REGION)"},
    advice{"InvalidAccessKeyId",
           "the store does not know AWS_ACCESS_KEY_ID: set the right one"},
    advice{"SignatureDoesNotMatch",
           "AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID, or a proxy changes "
           "requests"},
    advice{"RequestTimeTooSkewed", "set the clock of this host: the store has another time"},
    advice{"RequestExpired", "set the clock of this host: the store has another time"},
    advice{"ExpiredToken", "the temporary keys have run out: get others (AWS_SESSION_TOKEN)"},
    advice{"InvalidToken", "AWS_SESSION_TOKEN is wrong: unset it, or get other keys"},
    advice{"PermanentRedirect", "the bucket is in another region: set AWS_REGION"},
    advice{"AuthorizationHeaderMalformed", "the bucket is in another region: set AWS_REGION"},
    advice{"NotImplemented", "the store lacks this; name another one (AWS_ENDPOINT_URL)"},
};

std::string advice_on(const std::string& code, const char* permission, long status) {
  for (const auto& known : known_codes)
    if (known.code == code) return std::string(known.text);
  if (status == 401 || status == 403)
    return "these keys may not do it: let them have " + std::string(permission) +
           " on the bucket and what is in it, and see that the clock of this host is right";
  if (status == 301 || status == 307) return "the bucket is in another region: set AWS_REGION";
  return "look what the store says about it";
}

errc kind_of(const s3_answer& answer, const std::string& code) {
  if (answer.status == 507 || code.find("StorageFull") != std::string::npos ||
      code == "QuotaExceeded")
    return errc::no_space;
  if (answer.status == 0 || answer.status >= 500 || answer.status == 429)
    return errc::unavailable;
  if (answer.status == 404 && code != "NoSuchBucket") return errc::not_found;
  if (answer.status == 412 || answer.status == 409) return errc::already_exists;
  return errc::refused;
}

}  // namespace

expected<s3_bucket> s3_bucket::open(s3_account account, object_place place,
                                    const s3_limits& limits) {
  auto connection =
      s3_connection::open(std::move(account), std::move(place), limits.connect_ms);
  if (!connection) return fail(connection.error());
  return s3_bucket(std::move(*connection), limits);
}

s3_answer s3_bucket::ask(s3_request request, const action& task) {
  if (request.stalled_s == 0) request.stalled_s = limits_.stalled_s;
  const auto end = clock::now() + milliseconds(limits_.retry_ms);
  for (auto pause = pause_first;; pause = std::min(2 * pause, pause_most)) {
    auto answer = connection_.ask(request);
    const bool again = task.tries_again && may_pass(answer) &&
                       (task.may_repeat || is_turned_away(answer)) &&
                       clock::now() + pause < end;
    if (!again) return answer;
    std::this_thread::sleep_for(pause);
  }
}

status s3_bucket::failed(const s3_answer& answer, const std::string& name,
                         const action& task) const {
  const auto subject = place().url_of(name) + ": " + task.doing + ": ";
  const auto at = connection_.account().endpoint;
  const auto store = at.empty() ? "AWS in region " + connection_.account().region : at;
  if (answer.status == 0)
    return {errc::unavailable,
            subject + "no answer of " + store + ": " + answer.failure +
                "; is the store up, AWS_ENDPOINT_URL its address, and its certificate trusted "
                "(AWS_CA_BUNDLE)?"};
  const auto said = parse_s3_refusal(answer.text);
  auto text = subject + "HTTP status " + std::to_string(answer.status);
  if (!said.code.empty()) text += ", " + said.code;
  if (!said.message.empty()) text += " (" + said.message + ")";
  const auto kind = kind_of(answer, said.code);
  if (kind == errc::unavailable) return {kind, text + " of " + store + ": try again later"};
  if (kind == errc::no_space) return {kind, text + "; free some and try again"};
  if (kind == errc::not_found || kind == errc::already_exists) return {kind, text};
  return {kind, text + ": " + advice_on(said.code, task.permission, answer.status)};
}

status s3_bucket::put(const std::string& name, std::span<const std::byte> bytes) {
  constexpr action task{"cannot be written", "s3:PutObject"};
  const auto answer =
      ask({.verb = s3_verb::put, .key = place().key_of(name), .body = bytes}, task);
  return answer.is_good() ? status() : failed(answer, name, task);
}

status s3_bucket::put_new(const std::string& name, std::span<const std::byte> bytes) {
  constexpr action task{"cannot be made", "s3:PutObject", false};
  const auto answer = ask({.verb = s3_verb::put,
                           .key = place().key_of(name),
                           .headers = {"If-None-Match: *"},
                           .body = bytes},
                          task);
  return answer.is_good() ? status() : failed(answer, name, task);
}

expected<std::size_t> s3_bucket::get(const std::string& name, std::uint64_t offset,
                                     std::span<std::byte> into) {
  constexpr action task{"cannot be read", "s3:GetObject"};
  const auto answer = ask({.key = place().key_of(name), .offset = offset, .into = into}, task);
  if (answer.status == 416)
    return fail(errc::corrupt,
                place().url_of(name) + ": ends before byte " + std::to_string(offset));
  if (!answer.is_good()) return fail(failed(answer, name, task));
  // 200 is the answer of a store that knows no ranges, or of something else.
  if (answer.status != 206 && (offset != 0 || answer.is_cut))
    return fail(errc::refused, place().url_of(name) + ": cannot be read from byte " +
                                   std::to_string(offset) +
                                   " on: the store knows no ranges, or is no store; name "
                                   "another one (AWS_ENDPOINT_URL)");
  return static_cast<std::size_t>(answer.bytes);
}

expected<std::uint64_t> s3_bucket::size(const std::string& name) {
  constexpr action task{"cannot be looked at", "s3:GetObject and s3:ListBucket"};
  const auto answer = ask({.verb = s3_verb::head, .key = place().key_of(name)}, task);
  if (!answer.is_good()) return fail(failed(answer, name, task));
  return answer.bytes;
}

status s3_bucket::remove(const std::string& name) {
  constexpr action task{"cannot be removed", "s3:DeleteObject"};
  const auto answer = ask({.verb = s3_verb::remove, .key = place().key_of(name)}, task);
  return answer.is_good() || answer.status == 404 ? status() : failed(answer, name, task);
}

std::string s3_bucket::name_of(const std::string& key) const {
  const auto before = place().key_of("");
  if (!key.starts_with(before)) return {};
  auto name = key.substr(before.size());
  return is_file_name(name) ? name : std::string();
}

expected<std::vector<std::string>> s3_bucket::list() {
  constexpr action task{"cannot be listed", "s3:ListBucket"};
  std::vector<std::string> names;
  for (std::string next;;) {
    s3_request request;
    if (!next.empty()) request.query.emplace_back("continuation-token", next);
    request.query.emplace_back("delimiter", "/");
    request.query.emplace_back("list-type", "2");
    request.query.emplace_back("prefix", place().key_of(""));
    const auto answer = ask(std::move(request), task);
    if (!answer.is_good()) return fail(failed(answer, "", task));
    const auto page = parse_s3_keys(answer.text);
    if (!page)
      return fail(page.error().code(), place().url_of("") + ": " + page.error().message());
    for (const auto& key : page->keys)
      if (auto name = name_of(key); !name.empty()) names.push_back(std::move(name));
    if (page->next.empty()) break;
    next = page->next;
  }
  std::sort(names.begin(), names.end());
  return names;
}

expected<std::string> s3_bucket::begin_upload(const std::string& name) {
  constexpr action task{"cannot be written", "s3:PutObject", false};
  const auto answer = ask(
      {.verb = s3_verb::post, .key = place().key_of(name), .query = {{"uploads", ""}}}, task);
  if (!answer.is_good()) return fail(failed(answer, name, task));
  auto id = parse_s3_upload_id(answer.text);
  if (!id) return fail(id.error().code(), place().url_of(name) + ": " + id.error().message());
  return id;
}

expected<std::string> s3_bucket::put_part(const std::string& name, const std::string& upload,
                                          std::size_t number,
                                          std::span<const std::byte> bytes) {
  constexpr action task{"cannot be written", "s3:PutObject"};
  auto answer = ask({.verb = s3_verb::put,
                     .key = place().key_of(name),
                     .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                     .body = bytes},
                    task);
  if (!answer.is_good()) return fail(failed(answer, name, task));
  return std::move(answer.tag);
}

// A store may say 200 before it knows how that ends, and the error in the text.
status s3_bucket::complete(const std::string& name, const std::string& upload,
                           const std::vector<std::string>& tags) {
  constexpr action task{"cannot be completed", "s3:PutObject", false};
  const auto text = s3_completion(tags);
  auto answer = ask({.verb = s3_verb::post,
                     .key = place().key_of(name),
                     .query = {{"uploadId", upload}},
                     .body = std::as_bytes(std::span(text)),
                     .stalled_s = limits_.completing_s},
                    task);
  if (answer.is_good() && !is_s3_completed(answer.text)) answer.status = 500;
  return answer.is_good() ? status() : failed(answer, name, task);
}

status s3_bucket::abort(const std::string& name, const std::string& upload) {
  constexpr action task{"cannot be given up", "s3:AbortMultipartUpload", true, false};
  const auto answer = ask(
      {.verb = s3_verb::remove, .key = place().key_of(name), .query = {{"uploadId", upload}}},
      task);
  return answer.is_good() || answer.status == 404 ? status() : failed(answer, name, task);
}

expected<std::vector<s3_upload>> s3_bucket::uploads() {
  constexpr action task{"cannot be listed", "s3:ListBucketMultipartUploads"};
  std::vector<s3_upload> found;
  for (s3_upload next;;) {
    s3_request request;
    if (!next.key.empty()) request.query.emplace_back("key-marker", next.key);
    request.query.emplace_back("prefix", place().key_of(""));
    if (!next.id.empty()) request.query.emplace_back("upload-id-marker", next.id);
    request.query.emplace_back("uploads", "");
    const auto answer = ask(std::move(request), task);
    if (!answer.is_good()) return fail(failed(answer, "", task));
    const auto page = parse_s3_uploads(answer.text);
    if (!page)
      return fail(page.error().code(), place().url_of("") + ": " + page.error().message());
    for (const auto& upload : page->uploads)
      if (auto name = name_of(upload.key); !name.empty()) found.push_back({name, upload.id});
    if (page->next.key.empty() || page->next == next) break;
    next = page->next;
  }
  std::sort(found.begin(), found.end(),
            [](const auto& left, const auto& right) { return left.key < right.key; });
  return found;
}

}  // namespace tidegate::runtime
