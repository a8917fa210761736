#include "launch/monitor/http_post.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <curl/curl.h>
#include <string_view>
#include <utility>

#include "launch/monitor/private_file.hpp"
#include "launch/text/printable.hpp"
#include "runtime/objects/curl_library.hpp"

namespace tidegate::launch {

namespace {

using runtime::curl_library;
using runtime::errc;

constexpr std::size_t answer_bytes_most = 64 * 1024;
constexpr std::size_t answer_bytes_told = 200;
constexpr std::size_t headers_most = 64;
constexpr long http_good_least = 200;
constexpr long http_good_end = 300;

// Returns fewer bytes than came where there is no room: libcurl ends the transfer then.
std::size_t take_answer(char* bytes, std::size_t unit, std::size_t count, void* user) {
  auto& answer = *static_cast<std::string*>(user);
  const auto size = unit * count;
  if (size > answer_bytes_most - answer.size()) return 0;
  answer.append(bytes, size);
  return size;
}

// libcurl asks once in a second, or more often.
int is_given_up(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(user)->load() ? 1 : 0;
}

struct freed_list {
  const curl_library* library;
  void operator()(curl_slist* first) const { library->slist_free_all(first); }
};

struct freed_handle {
  const curl_library* library;
  void operator()(CURL* handle) const { library->easy_cleanup(handle); }
};

bool speaks_tls(const curl_library& library) {
  const auto* version = library.version_info(CURLVERSION_NOW);
  return (static_cast<unsigned>(version->features) & CURL_VERSION_SSL) != 0;
}

class curl_post final : public http_post {
 public:
  curl_post(const curl_library& library, http_target target)
      : library_(library),
        target_(std::move(target)),
        curl_(library.easy_init(), {&library}),
        headers_(nullptr, {&library}) {}

  // Returns false where libcurl has no memory, or refuses an option.
  bool set_up() {
    if (!curl_) return false;
    for (const auto& line : target_.headers)
      if (!add_header(line)) return false;
    // Without the second libcurl waits for leave to send a large body.
    bool is_set =
        add_header("Content-Type: application/json") && add_header("Expect:") &&
        set(CURLOPT_URL, target_.url.c_str()) && set(CURLOPT_HTTPHEADER, headers_.get()) &&
        set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_NOSIGNAL, 1L) &&
        set(CURLOPT_USERAGENT, "tidegate") && set(CURLOPT_ERRORBUFFER, problem_.data()) &&
        set(CURLOPT_WRITEFUNCTION, take_answer) && set(CURLOPT_NOPROGRESS, 0L) &&
        set(CURLOPT_XFERINFOFUNCTION, is_given_up);
    if (is_set && !target_.certificates.empty())
      is_set = set(CURLOPT_CAINFO, target_.certificates.c_str());
    // A name that nobody answers for is not waited for at the end; 7.85 does not know it yet.
    (void)set(CURLOPT_QUICK_EXIT, 1L);
    return is_set;
  }

  runtime::expected<std::string> send(const std::string& json, std::int64_t timeout_ms,
                                      const std::atomic<bool>& is_over) override {
    std::string answer;
    problem_.fill('\0');
    const bool is_set =
        set(CURLOPT_POSTFIELDS, json.c_str()) &&
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size())) &&
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms)) &&
        set(CURLOPT_WRITEDATA, static_cast<void*>(&answer)) &&
        set(CURLOPT_XFERINFODATA, static_cast<const void*>(&is_over));
    if (!is_set) return failed(errc::unavailable, "libcurl refuses an option");
    if (const auto code = library_.easy_perform(curl_.get()); code != CURLE_OK)
      return failed(errc::unavailable,
                    problem_[0] != '\0' ? problem_.data() : library_.easy_strerror(code));
    long status = 0;
    library_.easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= http_good_least && status < http_good_end) return answer;
    const auto told = shortened(answer, answer_bytes_told);
    return failed(errc::refused,
                  "HTTP status " + std::to_string(status) + (told.empty() ? "" : ", " + told));
  }

 private:
  template <class Value>
  bool set(CURLoption option, Value value) {
    return library_.easy_setopt(curl_.get(), option, value) == CURLE_OK;
  }
  bool add_header(const std::string& line) {
    auto* longer = library_.slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return false;
    (void)headers_.release();  // it is in the longer one
    headers_.reset(longer);
    return true;
  }
  tl::unexpected<runtime::status> failed(errc code, const std::string& why) const {
    return runtime::fail(code, target_.url + ": " + why);
  }

  const curl_library& library_;
  http_target target_;
  std::unique_ptr<CURL, freed_handle> curl_;
  std::unique_ptr<curl_slist, freed_list> headers_;
  std::array<char, CURL_ERROR_SIZE> problem_{};
};

bool is_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  const auto name = line.substr(0, colon);
  const bool is_name = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  const auto value = line.substr(colon + 1);
  return is_name && value.find_first_not_of(' ') != std::string_view::npos &&
         std::none_of(value.begin(), value.end(),
                      [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

}  // namespace

runtime::expected<std::unique_ptr<http_post>> http_post::open(http_target target) {
  const auto& library = runtime::the_curl();
  if (!library)
    return runtime::fail(errc::not_found,
                         "posting over HTTP needs libcurl, as stores of "
                         "objects do: " +
                             library.error().message());
  if (target.url.starts_with("https:") && !speaks_tls(*library))
    return runtime::fail(errc::not_found, target.url + ": this host's libcurl knows no TLS");
  auto post = std::make_unique<curl_post>(*library, std::move(target));
  if (!post->set_up())
    return runtime::fail(errc::not_found, "libcurl has no memory, or refuses an option");
  return post;
}

runtime::expected<std::vector<std::string>> read_headers(const std::string& path) {
  const auto text = read_private_file(path);
  if (!text) return runtime::fail(text.error());
  std::vector<std::string> headers;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text->size(); ++at) {
    const auto end = std::min(text->find('\n', at), text->size());
    auto line = text->substr(at, end - at);
    at = end;
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(' ') == std::string::npos || line.starts_with('#')) continue;
    // The line itself may be a secret.
    if (!is_header(line))
      return runtime::fail(errc::invalid_argument,
                           path + ":" + std::to_string(number) +
                               ": is no header; a line \"Name: value\" is wanted");
    headers.push_back(std::move(line));
  }
  if (headers.size() > headers_most)
    return runtime::fail(errc::invalid_argument,
                         path + ": more than " + std::to_string(headers_most) + " headers");
  return headers;
}

}  // namespace tidegate::launch
