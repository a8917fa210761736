#include "launch/options/option_names.hpp"

namespace tidegate::launch {

namespace options = boost::program_options;

std::vector<option_name> option_names(const options::options_description& known) {
  std::vector<option_name> names;
  for (const auto& option : known.options()) {
    const auto shortest =
        option->canonical_display_name(options::command_line_style::allow_dash_for_short);
    const bool has_letter = shortest.size() == 2 && shortest.front() == '-';
    names.push_back({.name = option->long_name(),
                     .letter = has_letter ? shortest.back() : '\0',
                     .has_value = option->semantic()->max_tokens() > 0});
  }
  return names;
}

}  // namespace tidegate::launch
