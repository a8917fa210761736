// libcurl, loaded when it is first used: it brings some thirty libraries along, and most
// clusters have no store of objects. Any thread; never unloaded, as its threads may be at work.
#pragma once

#include <curl/curl.h>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct curl_library {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_version_info) version_info = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

// Errors: not_found (it is not installed here, or too old; the message says what to do).
expected<curl_library> load_curl(const std::string& file);
// The same for all callers, of the usual name.
const expected<curl_library>& the_curl();

}  // namespace tidegate::runtime
