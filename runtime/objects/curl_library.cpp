#include "runtime/objects/curl_library.hpp"

#include <dlfcn.h>

namespace tidegate::runtime {

namespace {

constexpr const char* usual_file = "libcurl.so.4";
// The first that signs (7.75) and takes the names of protocols (7.85). An older one takes keys
// for a password, which it would send as it is.
constexpr unsigned oldest_version = 0x075500;

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

expected<curl_library> load_curl(const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    return fail(errc::not_found, "a store of objects needs libcurl (" + file +
                                     ") on this host: " + why +
                                     "; install it, on Debian as libcurl4");
  };
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(::dlerror());
  curl_library found;
  const bool is_whole = find(library, "curl_global_init", found.global_init) &&
                        find(library, "curl_version_info", found.version_info) &&
                        find(library, "curl_easy_init", found.easy_init) &&
                        find(library, "curl_easy_reset", found.easy_reset) &&
                        find(library, "curl_easy_setopt", found.easy_setopt) &&
                        find(library, "curl_easy_perform", found.easy_perform) &&
                        find(library, "curl_easy_getinfo", found.easy_getinfo) &&
                        find(library, "curl_easy_strerror", found.easy_strerror) &&
                        find(library, "curl_easy_cleanup", found.easy_cleanup) &&
                        find(library, "curl_slist_append", found.slist_append) &&
                        find(library, "curl_slist_free_all", found.slist_free_all);
  if (!is_whole) return refuse("it lacks a function");
  const auto* version = found.version_info(CURLVERSION_NOW);
  if (version->version_num < oldest_version)
    return refuse(std::string("it is ") + version->version + ", and 7.85 or newer is needed");
  if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return refuse("it cannot begin");
  return found;
}

const expected<curl_library>& the_curl() {
  static const auto curl = load_curl(usual_file);
  return curl;
}

}  // namespace tidegate::runtime
