#include "runtime/objects/s3_connection.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/sha256.hpp"
#include "runtime/objects/curl_library.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t text_bytes_max = std::size_t{16} << 20U;

struct header_list {
  const curl_library& library;
  curl_slist* first = nullptr;
  explicit header_list(const curl_library& of) : library(of) {}
  header_list(const header_list&) = delete;
  header_list& operator=(const header_list&) = delete;
  ~header_list() { library.slist_free_all(first); }
  void add(const std::string& line) {
    if (auto* longer = library.slist_append(first, line.c_str()); longer != nullptr)
      first = longer;
  }
};

struct transfer {
  const curl_library* library = nullptr;
  CURL* curl = nullptr;
  s3_answer* answer = nullptr;
  std::span<std::byte> into;
  bool is_full = false;  // there is more than was asked for
};

// Returns fewer bytes than came where there is no room: libcurl ends the transfer then.
std::size_t take_body(char* bytes, std::size_t unit, std::size_t count, void* user) {
  auto& transfer = *static_cast<struct transfer*>(user);
  auto& answer = *transfer.answer;
  const auto size = unit * count;
  long status = 0;
  transfer.library->easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (!transfer.into.empty() && status >= 200 && status < 300) {
    const auto taken = std::min<std::size_t>(size, transfer.into.size() - answer.bytes);
    std::memcpy(transfer.into.data() + answer.bytes, bytes, taken);
    answer.bytes += taken;
    transfer.is_full = taken < size;
    return taken;
  }
  if (size > text_bytes_max - answer.text.size()) return 0;
  answer.text.append(bytes, size);
  return size;
}

std::size_t take_header(char* bytes, std::size_t unit, std::size_t count, void* user) {
  auto& answer = *static_cast<s3_answer*>(user);
  std::string line(bytes, unit * count);
  constexpr std::string_view name = "etag:";
  if (line.size() > name.size() &&
      std::equal(name.begin(), name.end(), line.begin(),
                 [](char low, char c) { return low == (c >= 'A' && c <= 'Z' ? c + 32 : c); })) {
    line.erase(0, line.find_first_not_of(' ', name.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' '))
      line.pop_back();
    answer.tag = line;
  }
  return unit * count;
}

std::string digest_of(std::span<const std::byte> body) {
  sha256 hash;
  hash.update(body);
  return hash.finish();
}

bool has_reached_nobody(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}

// Options of one transfer. An option that is refused is not left out: without the one that
// signs, keys would be sent as a password is.
struct settings {
  const curl_library& library;
  CURL* curl;
  CURLcode refused = CURLE_OK;

  template <class Value>
  void operator()(CURLoption option, Value value) {
    const auto code = library.easy_setopt(curl, option, value);
    if (refused == CURLE_OK) refused = code;
  }
};

void set_verb(settings& set, const s3_request& request) {
  switch (request.verb) {
    case s3_verb::get:
      set(CURLOPT_HTTPGET, 1L);
      return;
    case s3_verb::head:
      set(CURLOPT_NOBODY, 1L);
      return;
    case s3_verb::remove:
      set(CURLOPT_CUSTOMREQUEST, "DELETE");
      return;
    case s3_verb::put:
    case s3_verb::post:
      set(CURLOPT_POSTFIELDS,
          request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      if (request.verb == s3_verb::put) set(CURLOPT_CUSTOMREQUEST, "PUT");
      return;
  }
}

}  // namespace

struct s3_connection::handle {
  explicit handle(const curl_library& of) : library(of), curl(of.easy_init()) {}
  ~handle() { library.easy_cleanup(curl); }
  const curl_library& library;
  CURL* curl;
};

std::string percent_encoded(std::string_view text, bool keeps_slashes) {
  constexpr char hex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                          c == '~' || (c == '/' && keeps_slashes);
    if (is_plain)
      encoded += c;
    else
      encoded += {'%', hex[byte >> 4U], hex[byte & 15U]};
  }
  return encoded;
}

s3_connection::s3_connection(s3_account account, object_place place, std::uint32_t connect_ms,
                             std::unique_ptr<handle> curl)
    : account_(std::move(account)),
      place_(std::move(place)),
      connect_ms_(connect_ms),
      curl_(std::move(curl)) {}
s3_connection::~s3_connection() = default;
s3_connection::s3_connection(s3_connection&&) noexcept = default;
s3_connection& s3_connection::operator=(s3_connection&&) noexcept = default;

expected<s3_connection> s3_connection::open(s3_account account, object_place place,
                                            std::uint32_t connect_ms) {
  const auto& library = the_curl();
  if (!library) return fail(library.error());
  auto curl = std::make_unique<handle>(*library);
  if (curl->curl == nullptr) return fail(errc::unavailable, "libcurl has no memory");
  return s3_connection(std::move(account), std::move(place), connect_ms, std::move(curl));
}

std::string s3_connection::address_of(const s3_request& request) const {
  auto address = account_.base_url(place_) + "/" + percent_encoded(request.key, true);
  char before = '?';
  for (const auto& [name, value] : request.query) {
    address += before + percent_encoded(name, false) + "=" + percent_encoded(value, false);
    before = '&';
  }
  return address;
}

s3_answer s3_connection::ask(const s3_request& request) {
  s3_answer answer;
  const auto& library = curl_->library;
  CURL* curl = curl_->curl;
  library.easy_reset(curl);  // connections stay
  settings set{library, curl};
  transfer state{.library = &library, .curl = curl, .answer = &answer, .into = request.into};
  const auto address = address_of(request);
  const auto signer = "aws:amz:" + account_.region + ":s3";
  const auto keys = account_.key_id + ":" + account_.secret;
  char problem[CURL_ERROR_SIZE] = {};
  header_list headers(library);
  // It is part of what is signed; libcurl 7.88 does not make it for all that S3 has.
  headers.add("x-amz-content-sha256: " + digest_of(request.body));
  if (!account_.session_token.empty())
    headers.add("x-amz-security-token: " + account_.session_token);
  if (request.verb == s3_verb::put || request.verb == s3_verb::post)
    headers.add("Content-Type: application/octet-stream");
  for (const auto& line : request.headers) headers.add(line);
  set_verb(set, request);
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_AWS_SIGV4, signer.c_str());
  set(CURLOPT_USERPWD, keys.c_str());
  set(CURLOPT_HTTPHEADER, headers.first);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, problem);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_ms_));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stalled_s));
  set(CURLOPT_WRITEFUNCTION, take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&state));
  set(CURLOPT_HEADERFUNCTION, take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&answer));
  if (!account_.certificates.empty()) set(CURLOPT_CAINFO, account_.certificates.c_str());
  std::string range;
  if (request.offset) {
    range = std::to_string(*request.offset) + "-" +
            std::to_string(*request.offset + request.into.size() - 1);
    set(CURLOPT_RANGE, range.c_str());
  }
  if (set.refused != CURLE_OK) {
    answer.failure =
        std::string("libcurl refuses an option: ") + library.easy_strerror(set.refused);
    answer.may_have_arrived = false;
    return answer;
  }
  const auto code = library.easy_perform(curl);
  answer.is_cut = code == CURLE_WRITE_ERROR && state.is_full;
  if (code == CURLE_OK || answer.is_cut) {
    library.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_off_t bytes = 0;
    if (request.verb == s3_verb::head &&
        library.easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes) == CURLE_OK)
      answer.bytes = bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
    return answer;
  }
  answer.failure = problem[0] != '\0' ? problem : library.easy_strerror(code);
  answer.may_have_arrived = !has_reached_nobody(code);
  return answer;
}

}  // namespace tidegate::runtime
