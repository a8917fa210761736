#include "runtime/functions/function_library.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <limits>

#include "runtime/functions/built_in.hpp"
#include "runtime/functions/function_watch.hpp"

namespace tidegate::runtime {

namespace {

static_assert(TIDEGATE_NUMBERS_MAX == call_numbers_max);
static_assert(TIDEGATE_SUM == static_cast<int>(combine_kind::sum) &&
              TIDEGATE_PRODUCT == static_cast<int>(combine_kind::product) &&
              TIDEGATE_MINIMUM == static_cast<int>(combine_kind::minimum) &&
              TIDEGATE_MAXIMUM == static_cast<int>(combine_kind::maximum));

constexpr const char* entry_point = "tidegate_plugin_of";
constexpr std::uint32_t entries_max = 1024;  // of each kind in a plugin

template <class Entry>
bool is_list(const Entry* entries, std::uint32_t count) {
  return count == 0 || (count <= entries_max && entries != nullptr);
}

// What changes no number that it is combined with.
double neutral(combine_kind kind) {
  switch (kind) {
    case combine_kind::sum:
      return 0.0;
    case combine_kind::product:
      return 1.0;
    case combine_kind::minimum:
      return std::numeric_limits<double>::infinity();
    case combine_kind::maximum:
      return -std::numeric_limits<double>::infinity();
  }
  return 0.0;
}

status bad(const std::string& path, const std::string& why) {
  return {errc::invalid_argument, "plugin " + path + ": " + why};
}

}  // namespace

function_library::function_library() {
  for (const auto& function : built_in_functions())
    entries_.push_back({.plugin = {}, .function = function});
}

const function_library& function_library::built_in() {
  static const function_library library;
  return library;
}

const function_library::entry* function_library::find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const entry& known) { return name == known.function.name; });
  return at == entries_.end() ? nullptr : &*at;
}

status function_library::check(const std::string& path,
                               std::span<const tidegate_function> functions) const {
  for (const auto& function : functions) {
    if (function.name == nullptr || !is_plugin_name(function.name, function_name_max))
      return bad(path, "a function has no name of 1 to 63 of A-Z a-z 0-9 _ - .");
    const auto subject = "function '" + std::string(function.name) + "' ";
    if (function.run == nullptr) return bad(path, subject + "has nothing to run");
    if (function.arguments > call_numbers_max || function.results == 0 ||
        function.results > call_numbers_max || function.combine > TIDEGATE_MAXIMUM)
      return bad(path, subject +
                           "has more than 32 arguments, other than 1 to 32 results, or an "
                           "unknown way to combine them");
    const auto is_same = [&](const tidegate_function& other) {
      return std::string_view(other.name) == function.name;
    };
    const auto* const before = find(function.name);
    if (before != nullptr)
      return bad(path, subject + "has a name that is taken by " +
                           (before->plugin.empty() ? "a function that is built in"
                                                   : "plugin " + before->plugin));
    if (std::count_if(functions.begin(), functions.end(), is_same) > 1)
      return bad(path, subject + "is there twice");
  }
  return {};
}

// The library is never unloaded: a thread may be in it.
status function_library::add_plugin(const std::string& path) {
  // A bare name would be looked for where the system keeps libraries.
  const auto file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return {errc::not_found, "plugin " + path + " cannot be loaded: " +
                                 (why == nullptr ? "no reason given" : why)};
  }
  const auto get =
      reinterpret_cast<const tidegate_plugin* (*)()>(::dlsym(library, entry_point));
  if (get == nullptr) return bad(path, std::string("exports no ") + entry_point);
  const auto* const plugin = get();
  if (plugin == nullptr) return bad(path, std::string(entry_point) + " returns nothing");
  if (plugin->abi != TIDEGATE_PLUGIN_ABI)
    return bad(path, "is of ABI " + std::to_string(plugin->abi) + ", and this Tidegate has " +
                         std::to_string(TIDEGATE_PLUGIN_ABI) +
                         "; compile it with the plugin.h of this version");
  if (plugin->function_count == 0 && plugin->reduction_count == 0 &&
      plugin->optimizer_count == 0)
    return bad(path, "has neither functions nor reductions nor optimizers");
  if (!is_list(plugin->functions, plugin->function_count) ||
      !is_list(plugin->reductions, plugin->reduction_count) ||
      !is_list(plugin->optimizers, plugin->optimizer_count))
    return bad(path,
               "has a list that is nowhere, or of more than " + std::to_string(entries_max));
  const std::span functions(plugin->functions, plugin->function_count);
  if (auto checked = check(path, functions); !checked.ok()) return checked;
  if (auto added = rules_.add(path, {plugin->reductions, plugin->reduction_count},
                              {plugin->optimizers, plugin->optimizer_count});
      !added.ok())
    return added;
  for (const auto& function : functions)
    entries_.push_back({.plugin = path, .function = function});
  return {};
}

function_results function_library::run(const function_call& call,
                                       const function_chunk& chunk) const {
  function_results results;
  const auto* const found = find(call.name);
  if (found == nullptr) {
    results.outcome = errc::not_found;
    return results;
  }
  const auto& function = found->function;
  const tidegate_chunk of{.parameters = chunk.parameters.data(),
                          .elements = chunk.parameters.size(),
                          .first = chunk.first,
                          .ids = chunk.ids.data(),
                          .dim = chunk.dim};
  results.combine = static_cast<combine_kind>(function.combine);
  bool is_accepted = call.arguments.size() == function.arguments;
  if (is_accepted && chunk.parameters.empty()) {
    std::fill_n(results.numbers.begin(), function.results, neutral(results.combine));
  } else if (is_accepted && found->plugin.empty()) {
    is_accepted = function.run(&of, call.arguments.data(), results.numbers.data()) == 0;
  } else if (is_accepted) {
    const function_watch watch(function.name, found->plugin.c_str());
    is_accepted = function.run(&of, call.arguments.data(), results.numbers.data()) == 0;
  }
  results.outcome = is_accepted ? errc::ok : errc::invalid_argument;
  results.count = is_accepted ? function.results : 0;
  return results;
}

std::string function_library::names() const {
  std::string names;
  for (const auto& known : entries_)
    names += (names.empty() ? "" : ", ") + std::string(known.function.name);
  return names;
}

}  // namespace tidegate::runtime
